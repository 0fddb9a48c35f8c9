"""Installation steps that pyproject.toml cannot describe: a package brings the suites, resources and lab along.

They are copied to ``niclab_tree`` next to ``niclab``, with the layout of a checkout, so that every relative path in
them holds.
"""

from setuptools import find_packages, setup

FOLDERS = ("suites", "resources", "lab")
LIBRARIES = ("libraries", "libraries/listeners")

setup(
    packages=[
        *find_packages("libraries", include=["niclab*"]),
        *(f"niclab_tree.{folder.replace('/', '.')}" for folder in (*FOLDERS, *LIBRARIES)),
    ],
    package_dir={"": "libraries", **{f"niclab_tree.{name.replace('/', '.')}": name for name in (*FOLDERS, *LIBRARIES)}},
    package_data={"niclab.report": ["templates/*"]}
    | {f"niclab_tree.{folder}": ["**/*", "**/.*"] for folder in FOLDERS},
    exclude_package_data={f"niclab_tree.{folder}": ["**/__pycache__/*"] for folder in FOLDERS},
)
