/** Sends one multipart upload and reports the seconds it took. Arguments: address, size in MiB. */
import { randomBytes } from 'node:crypto'
import http from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const [url, mebibytes] = process.argv.slice(2)
const size = Number(mebibytes) * 2 ** 20
// As a browser writes it; a parser's speed depends on how many bytes of the file occur in it.
const boundary = '----WebKitFormBoundary7MA4YWxkTrZu0gW'
const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\nContent-Type: application/octet-stream\r\n\r\n`
const tail = `\r\n--${boundary}--\r\n`
const chunk = randomBytes(64 * 1024)

function* parts() {
  yield Buffer.from(head)
  for (let sent = 0; sent < size; sent += chunk.length) yield chunk
  yield Buffer.from(tail)
}

const request = http.request(url, {
  method: 'POST',
  headers: {
    'Content-Type': `multipart/form-data; boundary=${boundary}`,
    'Content-Length': head.length + size + tail.length,
  },
})
const answer = new Promise((resolve, reject) => {
  request.on('error', reject)
  request.on('response', async (response) => {
    const chunks = await response.toArray()
    resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() })
  })
})

const start = performance.now()
await pipeline(Readable.from(parts()), request)
const { status, text } = await answer
const seconds = (performance.now() - start) / 1000
if (status !== 200 || JSON.parse(text).size !== size) {
  throw new Error(`status ${status}, ${text.slice(0, 300)}`)
}
process.stdout.write(JSON.stringify({ seconds }))
