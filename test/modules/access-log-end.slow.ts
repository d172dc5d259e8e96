/** No line of the access log is lost when its process ends, in any way. Source: docs/monitoring.md, Access log. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, it } from '@jest/globals'
import { bundleProgram } from '../bundle-program.js'

const program = bundleProgram('modules/fixtures/logged')
afterAll(() => {
  rmSync(program)
})

describe('the access log', () => {
  it.each(['SIGTERM', 'exit', 'throw'])('has every request after the end by %s', async (way) => {
    const child = fork(program, {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: {
        ...process.env,
        NODE_ENV: 'development',
        LOG_LEVEL: 'info',
        LOG_FORMAT: 'json',
      },
    })
    const output = text(child.stdout as NonNullable<typeof child.stdout>)
    const [url] = (await once(child, 'message')) as [string]
    const requestCount = 50
    for (let id = 1; id <= requestCount; id++) await (await fetch(`${url}/items/${id}`)).text()
    if (way === 'SIGTERM') child.kill('SIGTERM')
    else await fetch(`${url}/ends/${way}`).catch(() => undefined)
    const lines = (await output).split('\n').filter((line) => line.includes('"msg":"request"'))
    const routes = lines.map((line) => (JSON.parse(line) as { route: string }).route)
    expect(routes.filter((route) => route === '/items/<id:int>')).toHaveLength(requestCount)
  })
})
