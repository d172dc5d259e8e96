/**
 * A project of `filigree new` with the steps that hosts do: install, build, remove the development dependencies, migrate,
 * start. The packages come from the registry, as there.
 */
import { cp, mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startPostgres } from '../records/postgres-server.js'
import { canReachRegistry, NewProjects, run } from './new-projects.js'

const projects = new NewProjects()
const server = await startPostgres()
const hasNetwork = await canReachRegistry()
if (!hasNetwork)
  process.stderr.write('NOT TESTED: the steps of hosts, because there is no network.\n')

let project = ''
let variables: Record<string, string> = {}

/** Runs a step, which must succeed. */
async function step(cwd: string, text: string, more = variables): Promise<void> {
  const { code, output } = await run(cwd, ['sh', '-c', text], more)
  expect({ code, output }).toEqual({ code: 0, output: expect.any(String) })
}

/** The application responds as in production, and stops when the host asks it to. */
async function expectServed(cwd: string, command: readonly string[]): Promise<void> {
  const { url, stop } = await projects.start(cwd, command, { ...variables, PORT: '0' })
  try {
    expect((await fetch(`${url}/health/ready`)).status).toBe(200)
    expect((await fetch(`${url}/tickets`)).status).toBe(401)
  } finally {
    await stop()
  }
}

beforeAll(async () => {
  if (!hasNetwork) return
  await projects.open()
  project = await projects.make('desk', '--records', 'postgres')
  await rm(join(project, 'node_modules'), { recursive: true })
  // Hosts get the lock file of the developer, without the packages.
  await step(project, 'npm install --package-lock-only --no-audit --no-fund', {})
  const cli = join(projects.folder, 'node_modules/.bin/filigree')
  const keys = JSON.parse((await run(project, [cli, 'keys', '--json'])).output)
  variables = { ...keys, NODE_ENV: 'production', PUBLIC_URL: 'https://desk.example' }
}, 300_000)
afterAll(async () => {
  await projects.close()
  await server.close()
})

const on = hasNetwork ? it : it.skip

describe('a new project', () => {
  on(
    'builds and starts on Heroku and Render, without its development dependencies',
    async () => {
      variables = { ...variables, DATABASE_URL: await server.createDatabase() }
      // Render has NODE_ENV=production in the build too.
      await step(project, 'npm ci --include=dev --no-audit --no-fund && npm run build')
      await step(project, 'npm prune --omit=dev --no-audit --no-fund')
      expect((await run(project, ['ls', 'node_modules/.bin'])).output).not.toMatch(/^tsx?$|^tsc$/m)
      await step(project, 'npx filigree migrate up')
      await step(project, 'npx filigree routes')
      await expectServed(project, ['npm', 'start'])
    },
    300_000,
  )

  on(
    'builds and starts with the steps of its Dockerfile, as on Fly',
    async () => {
      variables = { ...variables, DATABASE_URL: await server.createDatabase() }
      const file = await readFile(join(project, 'Dockerfile'), 'utf8')
      for (const text of [
        'npm ci && npm run build',
        'npm ci --omit=dev',
        'ENV NODE_ENV=production',
      ])
        expect(file).toContain(text)
      const image = join(projects.folder, 'image')
      await mkdir(image)
      for (const name of ['package.json', 'package-lock.json', 'vendor'])
        await cp(join(project, name), join(image, name), { recursive: true })
      await step(image, 'npm ci --omit=dev --no-audit --no-fund')
      for (const name of ['dist', 'migrations'])
        await cp(join(project, name), join(image, name), { recursive: true })
      const [, command = ''] = /^CMD \["sh", "-c", "(.*)"\]$/m.exec(file) ?? []
      await expectServed(image, ['sh', '-c', command])
    },
    300_000,
  )
})
