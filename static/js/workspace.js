// The annotator's workspace: started where its page is.
import { Desk } from "./workspace/desk.js";

const state = document.getElementById("workspace-state");
if (state && document.querySelector("[data-workspace]")) new Desk(JSON.parse(state.textContent)).start();
