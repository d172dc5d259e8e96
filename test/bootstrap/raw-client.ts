/** A client that sends and receives raw bytes. */
import { connect, type Socket } from 'node:net'

/** Sends `text` and reads until the server closes the connection or `enough` returns true. */
export function exchange(
  url: string,
  text: string | Buffer,
  enough: (response: string) => boolean = () => false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = open(url)
    let response = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      response += chunk
      if (!enough(response)) return
      socket.destroy()
      resolve(response)
    })
    socket.on('end', () => {
      socket.destroy()
      resolve(response)
    })
    socket.on('error', (error) => {
      if (response === '') reject(error)
      else resolve(response)
    })
    socket.write(text)
  })
}

export function open(url: string): Socket {
  const { hostname, port } = new URL(url)
  return connect(Number(port), hostname.replace(/^\[|\]$/g, ''))
}

export function statusOf(response: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(response)?.[1])
}

export function bodyOf(response: string): string {
  return response.slice(response.indexOf('\r\n\r\n') + 4)
}
