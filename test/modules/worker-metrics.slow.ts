/** One scrape has the metrics of all workers. Source: docs/monitoring.md, Metrics. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from '@jest/globals'

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGTERM')
})

async function start(...args: string[]): Promise<string> {
  const program = fileURLToPath(new URL('./fixtures/counted-workers.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'development', TSX_TSCONFIG_PATH: 'test/tsconfig.json' },
  })
  children.push(child)
  const [text] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  return text.trim()
}

/** Uses a separate connection, so that workers alternate. @returns the process id of the worker */
async function requestItem(url: string): Promise<number> {
  const signal = AbortSignal.timeout(20_000)
  const response = await fetch(`${url}/items/7`, { headers: { connection: 'close' }, signal })
  return ((await response.json()) as { pid: number }).pid
}

async function scrape(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text()
}

/** The counted requests for items, by worker where they are labelled. */
function countsIn(text: string): number[] {
  const lines = /^http_request_duration_seconds_count\{[^}]*\/items[^}]*\} (\d+)$/gm
  return [...text.matchAll(lines)].map(([, count]) => Number(count))
}

describe('the metrics of workers', () => {
  it('are added up in each scrape, including the counts of ended workers', async () => {
    const url = await start()
    const pids = new Set<number>()
    let requestCount = 0
    for (; requestCount < 60 || pids.size < 2; requestCount++) pids.add(await requestItem(url))
    for (let time = 0; time < 4; time++) expect(countsIn(await scrape(url))).toEqual([requestCount])
    const [first = 0] = pids
    process.kill(first, 'SIGKILL')
    // Requests on their way to the killed worker are lost.
    while (pids.size < 3) pids.add(await requestItem(url).catch(() => first))
    const counts = countsIn(await scrape(url))
    expect(counts).toHaveLength(1)
    expect(counts[0]).toBeGreaterThanOrEqual(requestCount)
  })

  it('are separate with a label, where enabled', async () => {
    const url = await start('labelled')
    const pids = new Set<number>()
    let requestCount = 0
    for (; requestCount < 20 || pids.size < 2; requestCount++) pids.add(await requestItem(url))
    const counts = countsIn(await scrape(url))
    expect(counts).toHaveLength(2)
    expect(counts.reduce((sum, count) => sum + count)).toBe(requestCount)
    expect(await scrape(url)).toMatch(/^process_cpu_seconds_total\{worker="\d+"\}/m)
  })

  it('are available while a worker hangs, with its last values', async () => {
    const url = await start()
    const pids = new Set<number>()
    let requestCount = 0
    for (; requestCount < 20 || pids.size < 2; requestCount++) pids.add(await requestItem(url))
    expect(countsIn(await scrape(url))).toEqual([requestCount])
    const [hung = 0] = pids
    process.kill(hung, 'SIGSTOP')
    try {
      // A connection to the hung worker gets no response, and the next one goes to the other.
      const leave = new AbortController()
      const responses = Array.from({ length: 2 }, () =>
        fetch(`${url}/metrics`, { headers: { connection: 'close' }, signal: leave.signal }).then(
          (response) => response.text(),
        ),
      )
      expect(countsIn(await Promise.any(responses))).toEqual([requestCount])
      leave.abort()
      await Promise.allSettled(responses)
    } finally {
      process.kill(hung, 'SIGCONT')
    }
  })
})
