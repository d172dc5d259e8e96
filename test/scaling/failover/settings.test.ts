/** The options of `npm run failover`, and the settings of its servers, which docs/scaling.md shows. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { haproxyFile, patroniFile } from './cluster-files.js'
import { readSettings } from './settings.js'

const run = promisify(execFile)
const node = { name: 'one', postgres: 5432, rest: 8008 }
const page = await readFile(new URL('../../../docs/scaling.md', import.meta.url), 'utf8')

describe('npm run failover', () => {
  it('reads its options', () => {
    expect(readSettings(['--keys', '500'])).toMatchObject({ rounds: 3, keys: 500 })
    expect(readSettings(['--help'])).toMatchObject({ failed: false })
  })

  it('names the programs that are missing', async () => {
    const script = fileURLToPath(new URL('failover.ts', import.meta.url))
    const args = ['--import', 'tsx', script]
    const env = { ...process.env, PATH: '' }
    const ended = run(process.execPath, args, { env })
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^The failover suite needs:\n {2}- etcd \(Debian: etcd, or etcd-server\)\n {2}- patroni \(Debian: patroni\)\n/,
      ),
      stderr: '',
    })
  })

  it.each([
    [['--key', '5'], 'Unknown option "--key".'],
    [['--keys', 'many'], '--keys needs a whole number of 1 or more.'],
    [['--rounds'], '--rounds needs a whole number of 1 or more.'],
  ])('refuses %p', (args, message) => {
    expect(readSettings(args)).toMatchObject({
      failed: true,
      text: expect.stringContaining(message),
    })
  })
})

describe('the page on failover shows the settings of the suite', () => {
  it('of haproxy', () => {
    const lines = haproxyFile(5432, [node])
      .split('\n')
      .filter((line) => /^ {2}(?!bind|server|maxconn)/.test(line))
    expect(lines.length).toBeGreaterThan(8)
    expect(lines.filter((line) => !page.includes(`${line}\n`))).toEqual([])
  })

  it('of Patroni', () => {
    const file = patroniFile({ node, etcd: 2379, folder: '/data', programs: '/usr/bin' })
    const { dcs } = (JSON.parse(file) as { bootstrap: { dcs: Record<string, unknown> } }).bootstrap
    const settings = Object.entries(dcs).filter(([, value]) => typeof value !== 'object')
    expect(settings.map(([name]) => name)).toEqual([
      'ttl',
      'loop_wait',
      'retry_timeout',
      'synchronous_mode',
    ])
    for (const [name, value] of settings) expect(page).toContain(`${name}: ${String(value)}`)
  })
})
