/** Building blocks of the fire drill: processes of the built package, and clients that count the responses. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** A promise of the documentation, and what the trial observed. */
export interface TrialResult {
  readonly promised: string
  readonly observed: string
  readonly passed: boolean
}

const dist = fileURLToPath(new URL('../../dist/server', import.meta.url))
export const folder = mkdtempSync(join(tmpdir(), 'filigree-operations-'))
export const program = join(folder, 'shop.mjs')
export const command = join(dist, 'cli.js')

/** Bundles `shop.ts` against the built package, where `filigree/health` is `dist/server/health.js`. */
export async function buildShop(): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL('./shop.ts', import.meta.url))],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    plugins: [
      {
        name: 'built-package',
        setup(context) {
          context.onResolve({ filter: /^filigree(\/|$)/ }, ({ path }) => ({
            path: join(dist, `${path.slice('filigree/'.length) || 'index'}.js`),
            external: true,
          }))
        },
      },
    ],
  })
}

export interface Shop {
  readonly child: ChildProcess
  readonly url: string
}

const children = new Set<ChildProcess>()

/** @param ahead milliseconds by which the clock of the process is ahead */
export async function serve(
  database: string,
  { ahead = 0, env = {} }: { ahead?: number; env?: Readonly<Record<string, string>> } = {},
): Promise<Shop> {
  const wrong = `const now = Date.now; Date.now = () => now() + ${ahead}`
  const child = fork(program, [], {
    execArgv: ahead === 0 ? [] : ['--import', `data:text/javascript,${encodeURIComponent(wrong)}`],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, PORT: '0', DATABASE_URL: database, NODE_ENV: 'development', ...env },
  })
  children.add(child)
  const ended = once(child, 'exit').then(() =>
    Promise.reject(new Error('A shop process ended during its start.')),
  )
  ended.catch(() => undefined)
  const [url] = (await Promise.race([once(child, 'message'), ended])) as [string]
  return { child, url }
}

export async function stop(...shops: readonly Shop[]): Promise<void> {
  await Promise.all(
    shops.map(async ({ child }) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }),
  )
}

export function stopAll(): void {
  for (const child of children) child.kill('SIGKILL')
}

export interface Answer {
  /** 0 if no response came. */
  readonly status: number
  readonly ms: number
  readonly headers: Headers
  readonly body: unknown
}

export async function send(
  url: string,
  init: RequestInit = {},
  timeoutMs = 10_000,
): Promise<Answer> {
  const startedAt = performance.now()
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) })
    const text = await answer.text()
    const body: unknown = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text
    return {
      status: answer.status,
      ms: performance.now() - startedAt,
      headers: answer.headers,
      body,
    }
  } catch {
    return { status: 0, ms: performance.now() - startedAt, headers: new Headers(), body: undefined }
  }
}

export function post(
  url: string,
  body: object = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

/** Writes steadily to all shops. @returns a function that stops it and returns the confirmed texts and the other statuses */
export function writeTo(shops: readonly Shop[], name: string) {
  let goesOn = true
  const written: string[] = []
  const otherStatuses = new Map<number, number>()
  const writers = shops.map(async ({ url }, number) => {
    for (let count = 0; goesOn; count++) {
      const text = `${name}-${number}-${count}`
      const { status } = await post(`${url}/notes`, { text })
      if (status === 200) written.push(text)
      else otherStatuses.set(status, (otherStatuses.get(status) ?? 0) + 1)
      await pause(10)
    }
  })
  return async (): Promise<{ written: string[]; otherStatuses: Map<number, number> }> => {
    goesOn = false
    await Promise.all(writers)
    return { written, otherStatuses }
  }
}

/** @returns how many of the confirmed texts are not stored */
export async function countLost({ url }: Shop, written: readonly string[]): Promise<number> {
  const { body } = await untilOk(() => send(`${url}/texts`))
  const storedTexts = new Set(body as readonly string[])
  return written.filter((text) => !storedTexts.has(text)).length
}

export async function untilOk(run: () => Promise<Answer>, timeoutMs = 30_000): Promise<Answer> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const answer = await run()
    if (answer.status === 200 || performance.now() > end) return answer
    await pause(50)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

export function textOf(otherStatuses: ReadonlyMap<number, number>): string {
  const parts = [...otherStatuses].map(
    ([status, count]) => `${count} × ${status === 0 ? 'no response' : status}`,
  )
  return parts.length === 0 ? 'none failed' : parts.join(', ')
}
