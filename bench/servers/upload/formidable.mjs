/** The limit: formidable on node:http, the file streamed to disk and removed after the answer. */
import formidable from 'formidable'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { cors, listen } from '../contract.mjs'

const limits = { maxFileSize: 64 * 2 ** 30, maxTotalFileSize: 64 * 2 ** 30 }

const server = createServer(async (request, response) => {
  const [, files] = await formidable(limits).parse(request)
  const [file] = files.file
  response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', ...cors })
  response.end(JSON.stringify({ size: file.size }))
  await rm(file.filepath)
})
server.requestTimeout = 0
listen(server)
