import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import { afterAll, afterEach, describe, expect, it } from '@jest/globals'
import { bundleProgram } from '../bundle-program.js'
import { waitUntil } from '../wait-until.js'

const programs = {
  failing: bundleProgram('bootstrap/fixtures/failing'),
  single: bundleProgram('bootstrap/fixtures/single'),
  workers: bundleProgram('bootstrap/fixtures/workers'),
}
afterAll(() => {
  for (const path of Object.values(programs)) rmSync(path)
})

const children: ChildProcessWithoutNullStreams[] = []

function start(
  program: keyof typeof programs,
  variables: Readonly<Record<string, string>> = {},
): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [programs[program]], {
    env: {
      ...process.env,
      NODE_ENV: 'development',
      APP_API_KEY: '',
      LOG_FORMAT: 'json',
      ...variables,
    },
  })
  child.stdout.setEncoding('utf8')
  children.push(child)
  lines.set(child, createInterface(child.stdout)[Symbol.asyncIterator]())
  return child
}

/** The output lines of each process, buffered until they are read. */
const lines = new WeakMap<ChildProcessWithoutNullStreams, AsyncIterator<string>>()

async function line(child: ChildProcessWithoutNullStreams): Promise<string> {
  const entry = await lines.get(child)?.next()
  return String(entry?.value)
}

async function exitCode(child: ChildProcessWithoutNullStreams): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
})

describe('a process', () => {
  it('answers running requests after SIGTERM, then exits with 0', async () => {
    const child = start('single')
    const url = await line(child)
    const inFlight = fetch(`${url}/wait`)
    expect(await line(child)).toBe('waiting')
    child.kill('SIGTERM')
    expect(await (await inFlight).json()).toEqual({ done: true })
    expect(await exitCode(child)).toBe(0)
  })
})

/** Uses a separate connection, without a time limit. */
async function getSlowly(url: string): Promise<unknown> {
  try {
    return await (await fetch(url, { headers: { connection: 'close' } })).json()
  } catch {
    return undefined
  }
}

/** The lines that a process has logged at level `error`. */
function errorsIn(output: string): Record<string, unknown>[] {
  return output
    .split('\n')
    .filter((one) => one.startsWith('{'))
    .map((one) => JSON.parse(one) as Record<string, unknown>)
    .filter(({ level }) => level === 50)
}

describe('an uncaught error', () => {
  it('is written to standard error if the application has no log', async () => {
    const child = start('failing', { SILENT: '1' })
    let output = ''
    let errors = ''
    child.stdout.on('data', (chunk: string) => (output += chunk))
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk))
    while (!/^http.*$/m.test(output)) await once(child.stdout, 'data')
    await fetch(`${/^http.*$/m.exec(output)?.[0] ?? ''}/throw`)
    expect(await exitCode(child)).toBe(1)
    expect(errors).toMatch(
      /^an error was not caught in GET \/throw .*, so the process ends\nError: an uncaught error\n {4}at /,
    )
  })

  it.each([
    ['throw', 'uncaughtException', 'an uncaught error'],
    ['reject', 'unhandledRejection', 'a rejection without a handler'],
  ])(
    'by %s logs one line, running requests are answered, and the exit code is 1',
    async (path, origin, message) => {
      const child = start('failing')
      let output = ''
      child.stdout.on('data', (chunk: string) => (output += chunk))
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
      while (!/^http.*$/m.test(output)) await once(child.stdout, 'data')
      const url = /^http.*$/m.exec(output)?.[0] ?? ''
      const inFlight = fetch(`${url}/wait`)
      while (!output.includes('waiting')) await once(child.stdout, 'data')
      expect((await fetch(`${url}/${path}`)).status).toBe(200)
      expect(await (await inFlight).json()).toEqual({ done: true })
      expect(await exitCode(child)).toBe(1)
      expect(errorsIn(output)).toEqual([
        expect.objectContaining({ origin, err: expect.objectContaining({ message }) }),
      ])
      expect(output).not.toContain('Node.js v')
    },
  )

  it('by a provider while it stops lets the others stop, and the exit code is 1', async () => {
    const child = start('failing', { STOP: '1' })
    let output = ''
    child.stdout.on('data', (chunk: string) => (output += chunk))
    while (!/^http.*$/m.test(output)) await once(child.stdout, 'data')
    child.kill('SIGTERM')
    expect(await exitCode(child)).toBe(1)
    expect(errorsIn(output)).toEqual([
      expect.objectContaining({
        msg: 'onStop failed',
        err: expect.objectContaining({ name: 'Error', message: 'cannot stop' }),
      }),
    ])
    expect(output).toContain('last stopped')
  })

  it.each([
    ['throw', '1'],
    ['reject', '1'],
    ['reject', '2'],
  ])('by %s is left to a listener of the program (%s)', async (path, listenerMode) => {
    const child = start('failing', { OWN: listenerMode, LOG_LEVEL: 'silent' })
    const url = await line(child)
    expect((await fetch(`${url}/${path}`)).status).toBe(200)
    expect((await fetch(`${url}/reject`)).status).toBe(200)
    child.kill('SIGTERM')
    expect(await exitCode(child)).toBe(0)
  })

  it('ends one worker, and the others continue', async () => {
    const child = start('failing', { WORKERS: '2', LOG_LEVEL: 'silent' })
    const url = await line(child)
    await fetch(`${url}/throw`)
    const responses = await Promise.all(Array.from({ length: 10 }, () => getSlowly(`${url}/wait`)))
    expect(responses).toContainEqual({ done: true })
    child.kill('SIGTERM')
    expect(await exitCode(child)).toBe(0)
  })
})

/** Uses a separate connection, so that any worker may respond. */
async function getJson(url: string, signal?: AbortSignal): Promise<Record<string, number>> {
  const request = get(url, { agent: false, signal })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return (await json(response)) as Record<string, number>
}

/**
 * Sends requests until two different processes have responded, `without` not among them. A connection to a worker that
 * ends at that time gets no response.
 */
async function findWorkers(url: string, without?: number): Promise<Set<number>> {
  const pids = new Set<number>()
  await waitUntil(async () => {
    const response = await getJson(`${url}/pid`, AbortSignal.timeout(1000)).catch(() => undefined)
    if (response?.pid !== undefined && response.pid !== without) pids.add(response.pid)
    return pids.size >= 2
  })
  return pids
}

describe('workers', () => {
  it('share one port, replace one that exits, and end together', async () => {
    const child = start('workers')
    const url = await line(child)
    const first = await findWorkers(url)
    expect(first.size).toBe(2)
    expect(first.has(child.pid ?? 0)).toBe(false)
    const { crashing } = await getJson(`${url}/crash`)
    const replaced = await findWorkers(url, crashing)
    expect([replaced.size, replaced.has(crashing ?? 0)]).toEqual([2, false])
    child.kill('SIGTERM')
    expect(await exitCode(child)).toBe(0)
    await expect(getJson(`${url}/pid`)).rejects.toThrow('ECONNREFUSED')
  })

  it('notify each other of writes', async () => {
    const child = start('workers')
    const url = await line(child)
    const { pid: notifier } = await getJson(`${url}/notify`)
    for (;;) {
      const { pid, received } = (await getJson(`${url}/received`)) as {
        pid?: number
        received?: string[]
      }
      if (pid === notifier) expect(received).toEqual([])
      else if (received?.includes(`by ${notifier ?? 0}`)) break
    }
    child.kill('SIGTERM')
    expect(await exitCode(child)).toBe(0)
  })

  it('end together, including one that is still starting', async () => {
    const child = start('workers', { SLOW: '1' })
    const url = await line(child)
    await getJson(`${url}/crash`)
    expect(await line(child)).toBe('starting')
    child.kill('SIGTERM')
    expect(await exitCode(child)).toBe(0)
  })
})
