/** Opens many connections to a server and keeps them open. */
import { connect } from 'node:net'

const atOnce = 200

/** One connection: sends its request, and collects what comes back. */
class Connection {
  received = ''
  #socket
  #waiting = []

  constructor(url, request) {
    this.#socket = connect(Number(new URL(url).port), '127.0.0.1', () =>
      this.#socket.write(request),
    )
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (text) => {
      this.received += text
      this.#waiting = this.#waiting.filter(({ part, resolve }) => {
        if (!this.received.includes(part)) return true
        resolve()
        return false
      })
    })
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.on('close', () => this.#fail(new Error('the server closed a connection')))
  }

  #fail(error) {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  /** Resolves once the server has sent this text. */
  waitFor(part) {
    if (this.received.includes(part)) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiting.push({ part, resolve, reject }))
  }

  close() {
    this.#socket.destroy()
  }
}

/**
 * @param request the bytes that each connection sends once
 * @param part what each must have received
 * @returns the open connections
 */
export async function openConnections(url, count, { request, part }) {
  const open = []
  while (open.length < count) {
    const next = Array.from(
      { length: Math.min(atOnce, count - open.length) },
      () => new Connection(url, request),
    )
    open.push(...next)
    await Promise.all(next.map((connection) => connection.waitFor(part)))
  }
  return open
}
