// Gives the editor the keys and values that may stand at its cursor, which the server knows.
const CM = await import("nicegui-codemirror");
const editor = await getElement(EDITOR).editorPromise;
const complete = async (context) => {
  const before = context.state.sliceDoc(0, context.pos);
  const answer = await fetch("complete", { method: "POST", body: before });
  const { typed, options } = await answer.json();
  if (!context.explicit && !/[\w."]$/.test(before)) return null;
  return options.length ? { from: context.pos - typed, options, validFor: /^[\w-]*$/ } : null;
};
const source = CM.EditorState.languageData.of(() => [{ autocomplete: complete }]);
editor.dispatch({ effects: CM.StateEffect.appendConfig.of(source) });
