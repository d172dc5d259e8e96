/** The limit: node:http that says hello. */
import { createServer } from 'node:http'
import { corsList, listen } from '../contract.mjs'

const server = createServer((request, response) => {
  response.writeHead(200, ['Content-Type', 'application/json; charset=utf-8', ...corsList])
  response.end('{"hello":"world"}')
})
listen(server)
