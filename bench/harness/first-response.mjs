/** Times a start: from spawning the process to its first 200. */
import http from 'node:http'
import { startServer } from './servers.mjs'

/** Asks once, without keeping the connection, and resolves with the status. */
function ask(url) {
  return new Promise((resolve, reject) => {
    http
      .get(url, { agent: false }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode))
      })
      .on('error', reject)
  })
}

/**
 * Starts a contender, asks `path` as soon as it listens, and stops it.
 *
 * @returns `milliseconds` from spawn to the end of the response, and `figures` that the contender measured itself
 * @throws {Error} when the answer is no 200
 */
export async function timeFirstResponse(contender, path) {
  const server = await startServer(contender)
  try {
    const status = await ask(server.url + path)
    const milliseconds = performance.now() - server.spawnedAt
    if (status !== 200) throw new Error(`GET ${path}: status ${status} instead of 200`)
    return { milliseconds, figures: server.figures }
  } finally {
    await server.stop()
  }
}
