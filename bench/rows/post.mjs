/** A validated POST: five fields, one of them a list of three nested objects, checked and echoed. */
import { measureLoad } from '../harness/load-row.mjs'

const order = {
  customer: 'Ada Lovelace',
  reference: 'AL-18431',
  total: 148.75,
  express: true,
  lines: [
    { sku: 'LAMP-7', quantity: 2, price: 49.5 },
    { sku: 'BULB-E27', quantity: 10, price: 3.9 },
    { sku: 'CABLE-2M', quantity: 1, price: 10.75 },
  ],
}

const contenders = [
  { name: 'node:http, unchecked', file: 'post/bare.mjs' },
  { name: 'Filigree', file: 'post/filigree.ts' },
  { name: 'Fastify + Ajv', file: 'post/fastify.mjs' },
  { name: 'Nest + class-validator', file: 'post/nest-fastify.ts' },
]

const post = (value) => ({
  method: 'POST',
  path: '/orders',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(value),
})

export const request = post(order)

const refused = (change) => ({
  request: post({ ...order, ...change }),
  status: 400,
  not: ['node:http, unchecked', 'Bun.serve, unchecked'],
})
const withLine = (change) => ({ lines: [order.lines[0], { ...order.lines[1], ...change }] })

export const probes = [
  { request, status: 200, json: order },
  { request: post({ ...order, lines: [] }), status: 200, json: { ...order, lines: [] } },
  refused({ customer: undefined }),
  refused({ customer: '' }),
  refused({ customer: 'x'.repeat(81) }),
  refused({ reference: 'al-18431' }),
  refused({ total: '148.75' }),
  refused({ total: -1 }),
  refused({ express: 'true' }),
  refused({ lines: { 0: order.lines[0] } }),
  refused({ extra: 1 }),
  refused(withLine({ sku: 7 })),
  refused(withLine({ quantity: 1.5 })),
  refused(withLine({ quantity: 1001 })),
  refused(withLine({ price: undefined })),
  refused(withLine({ extra: 1 })),
]

export const row = {
  name: 'post',
  title: 'Validated POST, 5 fields and 3 nested objects, echoed',
  targets: [
    { of: 'Filigree', over: 'node:http, unchecked', atLeast: 0.75 },
    { of: 'Filigree', over: 'Fastify + Ajv', atLeast: 1.2 },
    { of: 'Filigree', over: 'Nest + class-validator', atLeast: 4 },
  ],
  measure: (options) => measureLoad({ contenders, probes, request }, options),
}
