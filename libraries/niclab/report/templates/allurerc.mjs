// Look of the Allure report (Allure 3). What differs from run to run is handed over by niclab/report/allure/allure.py in a
// JSON file, named by the environment variable NICLAB_REPORT_SETTINGS: {title, output, variables, history}.
import { readFileSync } from "node:fs";

const settings = JSON.parse(readFileSync(process.env.NICLAB_REPORT_SETTINGS, "utf-8"));
// Allure does not take a file into a single-file report: a path would be a broken picture.
const logo = "data:image/svg+xml;base64," + readFileSync(new URL("./logo.svg", import.meta.url)).toString("base64");
const ofVerdict = (verdict) => ({ labels }) => labels.some((label) => label.name === "verdict" && label.value === verdict);

export default {
  name: settings.title,
  output: settings.output,
  variables: settings.variables,
  historyPath: settings.history,
  hideLabels: ["thread", "host", "language", "framework", "parentSuite", "suite", "subSuite", /^_/],
  defaultLabels: { severity: "normal" },
  categories: [
    { id: "waived", name: "Waived card failure", matchers: [({ labels }) => labels.some((label) => label.name === "waiver")], expand: true },
    { id: "card-failure", name: "Card failure", matchers: [ofVerdict("card-failure")], groupBy: ["severity"], expand: true },
    { id: "bench-fault", name: "Bench fault", matchers: [ofVerdict("bench-fault")], expand: true },
    { id: "undecided", name: "Undecided", matchers: [ofVerdict("undecided")], expand: true },
    { id: "not-applicable", name: "Not applicable", matchers: [ofVerdict("not-applicable")] },
  ],
  plugins: {
    awesome: {
      options: {
        reportName: settings.title,
        singleFile: true,
        logo,
        theme: "light",
        reportLanguage: "en",
        groupBy: ["parentSuite", "suite", "subSuite"],
        stepTreeExpansion: "expand_failed_only",
      },
    },
  },
};
