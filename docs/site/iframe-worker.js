// Search in pages that are opened from disk: there browsers start no worker, so a hidden frame carries out its script.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(script) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inner = frame.contentWindow
      this.inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const element = frame.contentDocument.createElement("script")
      this.ready = new Promise(resolve => element.addEventListener("load", resolve))
      element.src = script
      frame.contentDocument.body.append(element)
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.inner.frameElement.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
