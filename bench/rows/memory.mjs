/** A million requests, each with an id of its own: what a server holds (heap and buffers, after a full collection) after the first tenth and at the end. */
import { selectContenders, startContenders } from '../harness/contenders.mjs'
import { toFigure } from '../harness/figures.mjs'
import { loadServer } from '../harness/load.mjs'
import { askMemory, probeArgs } from '../harness/memory.mjs'

const contenders = [
  { name: 'node:http', file: 'get/bare.mjs' },
  { name: 'Filigree', file: 'get/filigree.ts' },
  { name: 'Fastify', file: 'get/fastify.mjs' },
].map((contender) => ({ ...contender, nodeArgs: probeArgs }))

const request = { path: '/items/{n}' }

/** Loads until the server has answered `wanted` requests; the seconds follow from the speed seen last. */
async function loadUntil(server, wanted, options) {
  let answered = 0
  let seconds = 1
  while (answered < wanted) {
    const { requests, perSecond } = await loadServer(server.url, request, { ...options, seconds })
    answered += requests
    seconds = Math.max(1, Math.min(30, Math.ceil((wanted - answered) / perSecond)))
  }
  return answered
}

async function grow(server, options) {
  const first = await loadUntil(server, options.requests / 10, options)
  const early = await askMemory(server)
  await loadUntil(server, options.requests - first, options)
  const late = await askMemory(server)
  return {
    held: late.held - early.held,
    resident: late.resident - early.resident,
    end: late.resident,
  }
}

export const row = {
  name: 'memory',
  title: 'Memory after a million requests',
  chart: false,
  targets: [
    { figure: 0, of: 'Filigree', atMost: 1 },
    // Resident memory follows V8's young generation, in every server alike; what is beyond that is ours.
    { figure: 1, of: 'Filigree', over: 'node:http', atMostMore: 8 },
  ],
  async measure(options) {
    const failures = []
    const chosen = selectContenders(contenders, options)
    const started = await startContenders(chosen, { failures })
    const held = {}
    const resident = {}
    const end = {}
    for (const { contender, server } of started) {
      try {
        const grown = await grow(server, options)
        held[contender.name] = [grown.held]
        resident[contender.name] = [grown.resident]
        end[contender.name] = [grown.end]
      } catch (error) {
        failures.push({ contender: contender.name, reason: error.message })
      } finally {
        await server.stop()
      }
    }
    const figures = [
      toFigure('held growth after the first tenth', 'MiB', 'lower', held),
      toFigure('resident growth after the first tenth', 'MiB', 'lower', resident),
      toFigure('resident at the end', 'MiB', 'lower', end),
    ]
    return { figures, failures }
  },
}
