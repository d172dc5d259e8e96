/**
 * Restarts three processes one by one under load, behind each balancer with its configuration of docs/deploy. No request
 * fails, and streams are complete. Source: docs/production.md, Balancers.
 */
import { fork, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from '@jest/globals'
import { freePort } from '../free-port.js'
import { waitUntil } from '../wait-until.js'

const program = fileURLToPath(new URL('./served.ts', import.meta.url))
const configurations = fileURLToPath(new URL('../../docs/deploy/', import.meta.url))
const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']

interface Balancer {
  readonly file: string
  readonly run: (file: string, folder: string) => string[]
}

const balancers: Readonly<Record<string, Balancer>> = {
  nginx: {
    file: 'nginx.conf',
    run: (file, folder) => [
      ...['-c', file, '-p', folder],
      ...['-g', `daemon off; error_log stderr; pid ${folder}/nginx.pid;`],
    ],
  },
  haproxy: { file: 'haproxy.cfg', run: (file) => ['-f', file, '-db'] },
  caddy: { file: 'Caddyfile', run: (file) => ['run', '--adapter', 'caddyfile', '--config', file] },
}

const children = new Set<ChildProcess>()
const temporaryFolders: string[] = []
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  await Promise.all(
    temporaryFolders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })),
  )
})

async function serve(port: number): Promise<ChildProcess> {
  const child = fork(program, [String(port)], {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, NODE_ENV: 'development', TSX_TSCONFIG_PATH: 'test/tsconfig.json' },
  })
  children.add(child)
  await once(child, 'message')
  return child
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const [code] = (await ended) as [number]
  children.delete(child)
  expect(code).toBe(0)
}

async function balance(command: string, { file, run }: Balancer, ports: readonly number[]) {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-balancer-'))
  temporaryFolders.push(folder)
  const port = await freePort()
  let configuration = await readFile(join(configurations, file), 'utf8')
  for (const [index, ownPort] of ports.entries())
    configuration = configuration.replaceAll(`127.0.0.1:300${index + 1}`, `127.0.0.1:${ownPort}`)
  const path = join(folder, file)
  await writeFile(path, configuration.replaceAll('8080', String(port)))
  const child = spawn(command, run(path, folder), {
    stdio: 'ignore',
    env: { ...process.env, HOME: folder },
  })
  children.add(child)
  return `http://127.0.0.1:${port}`
}

interface Outcome {
  readonly path: string
  readonly result: string | number
}

/** Sends requests on persistent connections until it is stopped. @returns the unexpected results */
function load(url: string): () => Promise<{ failed: Outcome[]; requestCount: number }> {
  let goesOn = true
  let requestCount = 0
  const failed: Outcome[] = []
  const send = async (agent: Agent, path: string, method = 'GET'): Promise<void> => {
    requestCount++
    try {
      const sent = request(url + path, {
        agent,
        method,
        headers: method === 'POST' ? { 'content-type': 'application/json' } : {},
      })
      sent.end(method === 'POST' ? '{"name":"lamp"}' : undefined)
      const [answer] = (await once(sent, 'response')) as [import('node:http').IncomingMessage]
      const body = await text(answer)
      if (answer.statusCode !== 200) failed.push({ path, result: answer.statusCode ?? 0 })
      else if (path === '/pieces' && body !== '0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n')
        failed.push({ path, result: body })
    } catch (error) {
      failed.push({ path, result: String(error) })
    }
  }
  const clients = Array.from({ length: 8 }, async (_, number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (goesOn) {
      if (number === 0) await send(agent, '/pieces')
      else if (number === 1) await send(agent, '/items', 'POST')
      else await send(agent, '/items/7')
      // A pause for the load to last as long as the restarts, with time left for the processes.
      await pause(10)
    }
    agent.destroy()
  })
  return async () => {
    goesOn = false
    await Promise.all(clients)
    return { failed, requestCount }
  }
}

/** @returns the process that responds, `undefined` if there is no response */
async function pidOf(url: string): Promise<unknown> {
  try {
    const response = await fetch(`${url}/items/1`, { headers: { connection: 'close' } })
    return ((await response.json()) as { pid: number }).pid
  } catch {
    return undefined
  }
}

async function untilUp(url: string): Promise<void> {
  await waitUntil(async () => (await pidOf(url)) !== undefined)
}

describe.each(Object.entries(balancers))('%s', (name, balancer) => {
  const command = folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
  const title = 'loses no request while its processes are restarted one after the other'
  if (command === undefined) {
    it.skip(`${title} (skipped: ${name} is not installed; Debian has it as a package)`, () =>
      undefined)
    return
  }
  it(title, async () => {
    const ports = [await freePort(), await freePort(), await freePort()]
    const processes = await Promise.all(ports.map(serve))
    const url = await balance(command, balancer, ports)
    await untilUp(url)
    const headers = { 'x-forwarded-proto': 'https', forwarded: 'proto=https' }
    const response = await fetch(`${url}/secure`, { headers })
    expect(await response.json()).toEqual({ secure: false })
    const end = load(url)
    for (const [index, port] of ports.entries()) {
      await stop(processes[index] as ChildProcess)
      processes[index] = await serve(port)
      // The balancer has to use it again before the next one stops.
      await waitUntil(async () => (await pidOf(url)) === processes[index]?.pid)
    }
    const { failed, requestCount } = await end()
    expect(failed).toEqual([])
    expect(requestCount).toBeGreaterThan(100)
  })
})
