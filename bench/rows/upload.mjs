/** One large multipart upload to disk: throughput, and what the server's memory grows by. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { alternate, selectContenders, startContenders } from '../harness/contenders.mjs'
import { pick, toFigure } from '../harness/figures.mjs'
import { runOnLoadCore } from '../harness/load.mjs'
import { readResident, watchPeak } from '../harness/memory.mjs'

const client = fileURLToPath(new URL('../harness/upload-client.mjs', import.meta.url))

const all = [
  { name: 'formidable', file: 'upload/formidable.mjs' },
  { name: 'Filigree', file: 'upload/filigree.ts' },
]

const upload = async (url, mebibytes) =>
  JSON.parse(await runOnLoadCore(process.execPath, [client, `${url}/upload`, String(mebibytes)]))

/** One upload; memory grows from what was resident once the first small upload had loaded everything. */
async function measureUpload(server, mebibytes, baseline) {
  const peak = watchPeak(server.pid)
  const { seconds } = await upload(server.url, mebibytes)
  return { speed: mebibytes / seconds, growth: peak.stop() - baseline }
}

/** The files in a folder and below. */
async function listFiles(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
}

/** Waits until the servers have removed what was uploaded; a file may go after the answer, yet soon. */
async function waitForEmpty(folder) {
  for (let tries = 0; tries < 100; tries++) {
    if ((await listFiles(folder)).length === 0) return
    await setTimeout(50)
  }
  throw new Error(`left on disk: ${(await listFiles(folder)).join(', ')}`)
}

export const row = {
  name: 'upload',
  title: 'Multipart upload to disk',
  targets: [
    { figure: 0, of: 'Filigree', over: 'formidable', atLeast: 0.9 },
    { figure: 1, of: 'Filigree', atMost: 32 },
  ],
  async measure(options) {
    const failures = []
    const folder = await mkdtemp(path.join(os.tmpdir(), 'filigree-bench-'))
    const chosen = selectContenders(all, options)
    const started = await startContenders(chosen, { env: { TMPDIR: folder }, failures })
    const servers = new Map(started.map(({ contender, server }) => [contender.name, server]))
    try {
      const names = [...servers.keys()]
      const baselines = {}
      const warm = async (name) => {
        const server = servers.get(name)
        await upload(server.url, 8)
        await waitForEmpty(folder)
        baselines[name] = readResident(server.pid)
      }
      await alternate(names, 1, warm, failures)
      const once = async (name) => {
        const result = await measureUpload(servers.get(name), options.size, baselines[name])
        await waitForEmpty(folder)
        return result
      }
      const warmed = Object.keys(baselines)
      const results = await alternate(warmed, options.rounds, once, failures)
      const figures = [
        toFigure('throughput', 'MiB/s', 'higher', pick(results, 'speed')),
        toFigure('growth of resident memory', 'MiB', 'lower', pick(results, 'growth')),
      ]
      return { figures, failures }
    } finally {
      for (const server of servers.values()) await server.stop()
      await rm(folder, { recursive: true })
    }
  },
}
