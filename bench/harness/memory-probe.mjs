/** Loaded into a server before its own file: answers how much heap is in use after a full collection. */
process.on('message', () => {
  globalThis.gc()
  globalThis.gc()
  process.send({ heapUsed: process.memoryUsage().heapUsed })
})
// A server ends by its own rules, not by this channel.
process.channel?.unref()
