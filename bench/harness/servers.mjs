/** Starts contenders as processes of their own and ends them with the run. */
import { spawn } from 'node:child_process'
import { runnableFile } from './compile.mjs'
import { onCore, serverCore } from './machine.mjs'

const startTimeout = 60_000
const running = new Set()

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

/** Resolves with the match of the line `ready <url> <figures>` in what the server prints. */
function waitForReady(child) {
  return new Promise((resolve, reject) => {
    let printed = ''
    let complained = ''
    const fail = (reason) => {
      clearTimeout(timer)
      const said = complained.replace(/^ +at .*\n?/gm, '')
      const cause = /^.*(Error|cannot start)[^]*/m.exec(said)?.[0] ?? said
      reject(new Error(cause ? `${reason}: ${cause.trim().slice(0, 600)}` : reason))
    }
    const timer = setTimeout(() => fail('did not say "ready" in time'), startTimeout)
    child.stderr.on('data', (text) => (complained += text))
    child.stdout.on('data', (text) => {
      printed += text
      const ready = /^ready (\S+) (.*)$/m.exec(printed)
      if (!ready) return
      clearTimeout(timer)
      // Read on and forget, or a full pipe would stop a server that logs.
      child.stdout.removeAllListeners('data').resume()
      child.stderr.removeAllListeners('data').resume()
      resolve(ready)
    })
    child.on('error', (error) => fail(error.message))
    child.on('exit', (code) => fail(`ended with code ${code} before it was ready`))
  })
}

/**
 * Starts one contender and waits until it listens.
 *
 * @param contender `{ file, env?, program?, nodeArgs?, cores? }`, the file below `servers/`, a program other than this Node, the cores as taskset takes them
 * @returns `url` (always by 127.0.0.1), `pid`, `child`, `figures` (what it measured about itself), `spawnedAt` (`performance.now()`) and `stop()`
 * @throws {Error} with what it wrote to stderr when it does not come up
 */
export async function startServer(contender, env = {}) {
  const args = [...(contender.nodeArgs ?? []), runnableFile(contender.file, contender.isBeside)]
  const runtime = contender.program ?? process.execPath
  const [program, line] = onCore(contender.cores ?? serverCore, runtime, args)
  const spawnedAt = performance.now()
  const child = spawn(program, line, {
    env: { ...process.env, ...env, ...contender.env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  running.add(child)
  const ended = new Promise((resolve) => {
    child.on('exit', () => {
      running.delete(child)
      resolve()
    })
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
  }
  try {
    const [, url, figures] = await waitForReady(child)
    const address = url.replace(/\/\/(\[::1?\]|localhost|0\.0\.0\.0)/, '//127.0.0.1')
    return { url: address, pid: child.pid, child, figures: JSON.parse(figures), spawnedAt, stop }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}
