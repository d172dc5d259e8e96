import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { PlainClient } from '../../client/index.js'
import { buildClient, builtFiles, type BuiltClient } from './built-client.js'

const limit = 1536

let built: BuiltClient

beforeAll(async () => {
  built = await buildClient()
})
afterAll(() => built.remove())

describe('the published client', () => {
  it.each(builtFiles)('%s has at most 1,536 bytes, gzip -9', async (name) => {
    const bytes = gzipSync(await built.read(name), { level: 9 }).length
    process.stdout.write(`client/${name}: ${bytes} of ${limit} bytes, gzip -9\n`)
    expect(bytes).toBeLessThanOrEqual(limit)
  })

  it.each(builtFiles)('%s has a source map with its sources', async (name) => {
    const map = JSON.parse(await built.read(`${name}.map`)) as Record<string, unknown>
    expect(await built.read(name)).toMatch(new RegExp(`\\n//# sourceMappingURL=${name}\\.map\\n?$`))
    expect(map).toMatchObject({ version: 3, file: name })
    const sources = map.sources as string[]
    const index = sources.findIndex((source) => source.endsWith('client/index.ts'))
    expect((map.sourcesContent as string[])[index]).toMatch(/export const createClient/)
    expect(map.mappings).toMatch(/^;*[\w+/]/)
  })

  it('as a script sets window.api and nothing else', async () => {
    const window: { api?: PlainClient } = {}
    const page: Record<string, unknown> = { window }
    runInNewContext(await built.read('filigree.min.js'), page)
    expect(Object.keys(page)).toEqual(['window'])
    expect(Object.keys(window)).toEqual(['api'])
    expect(Object.keys(window.api!).sort()).toEqual([
      'configure',
      'delete',
      'get',
      'intercept',
      'patch',
      'post',
      'put',
    ])
  })

  it('as a module exports api and createClient and looks at no global', async () => {
    const module = await built.read('filigree.mjs')
    const exported = /export\{(\w+) as api,(\w+) as createClient\};?/.exec(module)!
    const touched: string[] = []
    // Sees every name that is read and not the module's own or a part of the language.
    const scope = new Proxy(
      {},
      {
        has: (_, name) => typeof name === 'string' && !['Set', 'undefined'].includes(name),
        get: (_, name) => {
          if (typeof name === 'string') touched.push(name)
          return undefined
        },
      },
    )
    const body = module.slice(0, exported.index)
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- only sloppy code has `with`.
    const run = new Function(
      'scope',
      `with (scope) { return (() => { ${body}; return ${exported[2]!} })() }`,
    )
    expect(run(scope)).toBeInstanceOf(Function)
    expect(touched).toEqual([])
  })
})
