/** A typed GET: `/items/<id:int>` answers a small record. */
import { measureLoad } from '../harness/load-row.mjs'
import { itemOf } from '../servers/contract.mjs'

const contenders = [
  { name: 'node:http', file: 'get/bare.mjs' },
  { name: 'Filigree', file: 'get/filigree.ts' },
  { name: 'Fastify', file: 'get/fastify.mjs' },
  { name: 'Nest on Fastify', file: 'get/nest-fastify.ts' },
  { name: 'Hono', file: 'get/hono.mjs' },
  { name: 'Express', file: 'get/express.mjs' },
  { name: 'Nest on Express', file: 'get/nest-express.ts' },
]

export const request = { path: '/items/7' }

export const probes = [
  { request: { path: '/items/7' }, status: 200, json: itemOf(7) },
  { request: { path: '/items/90210' }, status: 200, json: itemOf(90210) },
  { request: { path: '/items/lamp' }, status: [400, 404] },
  { request: { path: '/nothing' }, status: 404 },
]

export const row = {
  name: 'get',
  title: 'Typed GET, small JSON',
  targets: [
    { of: 'Filigree', over: 'node:http', atLeast: 0.95 },
    { of: 'Filigree', over: 'Fastify', atLeast: 1.05 },
    { of: 'Filigree', over: 'Nest on Fastify', atLeast: 1.7 },
    { of: 'Filigree', over: 'Nest on Express', atLeast: 8 },
  ],
  measure: (options) => measureLoad({ contenders, probes, request }, options),
}
