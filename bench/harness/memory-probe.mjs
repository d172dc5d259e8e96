/** Loaded into a server before its own file: answers how much heap and buffers are in use after a full collection. */
process.on('message', () => {
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  process.send({ held: heapUsed + external })
})
// A server ends by its own rules, not by this channel.
process.channel?.unref()
