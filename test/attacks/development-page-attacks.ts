/** Attacks on `filigree dev` through a proxy on the developer's machine. They need the built command. */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Attack } from './attack.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

const program = `import { bootstrap, Module } from 'filigree'
class App {}
Module({})(App)
await bootstrap(App, { host: '127.0.0.1', port: 0 })
`

/** Runs `filigree dev` on an empty application. */
async function withDev<T>(use: (url: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-attack-'))
  await mkdir(join(folder, 'node_modules'))
  await symlink(root, join(folder, 'node_modules/filigree'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'main.mjs'), program)
  const args = [join(root, 'dist/server/cli.js'), 'dev', 'main.mjs', '--json']
  const dev = spawn(process.execPath, args, { cwd: folder })
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let printed = ''
      const read = (data: unknown): void => {
        printed += String(data)
        const ready = printed.split('\n').find((line) => line.includes('"event":"ready"'))
        if (ready !== undefined) resolve((JSON.parse(ready) as { url: string }).url)
      }
      dev.stdout.on('data', read)
      dev.once('exit', () => {
        reject(new Error(`filigree dev ended: ${printed}`))
      })
    })
    return await use(url)
  } finally {
    dev.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

export const attacks: readonly Attack[] = [
  {
    name: 'development page: a stranger behind a plain nginx asks for an administrator’s token',
    before: '200 with a token of any roles',
    // It starts the built command, which the tests do not have.
    measures: true,
    run: () =>
      withDev(async (url) => {
        const send = (path: string, init?: RequestInit): Promise<Response> =>
          fetch(`${url}/__filigree${path}`, { ...init, redirect: 'manual' })
        const body = JSON.stringify({ claims: { sub: '1', roles: ['admin'] } })
        const headers = { 'content-type': 'application/json' }
        const statuses = [(await send('/token', { method: 'POST', headers, body })).status]
        for (const path of ['', '/requests', '/log', '/records', '?secret=guess'])
          statuses.push((await send(path)).status)
        const isBlocked = statuses.every((status) => status === 403)
        return {
          now: `${[...new Set(statuses)].join(', ')} without the printed secret`,
          isBlocked,
        }
      }),
  },
]
