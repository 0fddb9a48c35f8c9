"""The Allure report: its tools, its steps and tags, and its results read back."""
