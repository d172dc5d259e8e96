/**
 * Bundles the built package and an application into one file without bundler options. Lazily loaded code works there too.
 * CommonJS packages that require Node modules cannot be bundled into an ES module.
 */
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { build } from 'esbuild'
import { root, runNode } from '../openapi/command.js'
import { createPackageFolder } from './package-folder.js'

let folder: string

beforeAll(async () => {
  const created = await createPackageFolder()
  folder = created.folder
  const built = await runNode('src/build.mjs', join(created.published, 'dist/server'))
  expect(built).toEqual({ code: 0, output: '' })
  await cp(join(root, 'test/toolchains/bundled-app.ts'), join(folder, 'app.ts'))
  await mkdir(join(folder, 'files'))
  await writeFile(join(folder, 'files/a.txt'), 'a file')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('an application in one file with the built package', () => {
  it.each([false, true])('gives all responses, minified: %s', async (minify) => {
    const outfile = join(folder, `out-${minify}.mjs`)
    await build({
      ...{ entryPoints: [join(folder, 'app.ts')], outfile, minify, bundle: true },
      ...{ platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' },
      external: ['better-sqlite3', 'pg'],
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    })
    const { code, output } = await runNode(outfile)
    expect(output).toMatch(/^\{/)
    expect([code, JSON.parse(output)]).toEqual([
      0,
      {
        json: [200, '{"id":7}'],
        form: [200, '{"name":"a"}'],
        upload: [200, '{"size":3}'],
        file: [200, 'a file'],
        missing: [404, '{"error":"Not found","code":"NOT_FOUND"}'],
        graphql: [200, '{"data":{"two":2}}'],
        document: [200, 'openapi: 3.1.1'],
        page: [200, '<!doctype html>'],
        script: [200, 'application/javascript'],
        ide: [200, '<!doctype html>'],
        signedIn: [200, '{"sub":"7"}'],
      },
    ])
  })
})
