/** A client that sends and receives raw bytes. */
import { connect, type Socket } from 'node:net'

/** Sends `text` and reads until the server closes the connection or `enough` returns true. */
export function exchange(
  url: string,
  text: string | Buffer,
  enough: (answer: string) => boolean = () => false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = open(url)
    let answer = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      answer += chunk
      if (!enough(answer)) return
      socket.destroy()
      resolve(answer)
    })
    socket.on('end', () => {
      socket.destroy()
      resolve(answer)
    })
    socket.on('error', (error) => {
      if (answer === '') reject(error)
      else resolve(answer)
    })
    socket.write(text)
  })
}

export function open(url: string): Socket {
  const { hostname, port } = new URL(url)
  return connect(Number(port), hostname.replace(/^\[|\]$/g, ''))
}

export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
}

export function bodyOf(answer: string): string {
  return answer.slice(answer.indexOf('\r\n\r\n') + 4)
}
