/** What stands around a handler: an interceptor and the modules for production, one by one and together. */
import { measureLoad } from '../harness/load-row.mjs'
import { itemOf } from '../servers/contract.mjs'

const together = 'throttle metrics log tracing'
const parts = ['', 'interceptor', 'throttle', 'metrics', 'log', 'tracing', together]

const named = (name, part) => {
  if (part === '') return name
  return `${name} + ${part === together ? 'all four' : part}`
}
const contenders = [
  ...parts.map((part) => ({
    name: named('Filigree', part),
    file: 'modules/filigree.ts',
    env: { PARTS: part },
  })),
  ...parts.map((part) => ({
    name: named('Fastify', part),
    file: 'modules/fastify.mjs',
    env: { PARTS: part },
  })),
]

const probes = [
  { request: { path: '/items/7' }, status: 200, json: itemOf(7) },
  { request: { path: '/items/lamp' }, status: [400, 404] },
]

export const row = {
  name: 'modules',
  title: 'Typed GET behind an interceptor and modules',
  targets: [
    { of: 'Filigree + interceptor', over: 'Filigree', atLeast: 0.97 },
    { of: 'Filigree + throttle', over: 'Filigree', atLeast: 0.95 },
    { of: 'Filigree + metrics', over: 'Filigree', atLeast: 0.95 },
    { of: 'Filigree + log', over: 'Filigree', atLeast: 0.85 },
    { of: 'Filigree + tracing', over: 'Filigree', atLeast: 0.98 },
    { of: 'Filigree + all four', over: 'Fastify + all four', atLeast: 1.05 },
  ],
  measure: (options) => measureLoad({ contenders, probes, request: { path: '/items/7' } }, options),
}
