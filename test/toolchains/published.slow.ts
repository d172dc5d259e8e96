import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { root, runNode } from '../openapi/command.js'
import { createPackageFolder } from './package-folder.js'

const compilers = {
  5: 'test/tools/node_modules/typescript5/bin/tsc',
  6: 'node_modules/typescript/bin/tsc',
  7: 'node_modules/typescript7/bin/tsc',
}
const programs = ['published.ts', 'result-types.ts']
let folder: string

beforeAll(async () => {
  const created = await createPackageFolder('@types/node')
  folder = created.folder
  for (const name of ['dist/src', 'dist/client'])
    await cp(join(root, name), join(created.published, name), { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  for (const name of programs) await cp(join(root, 'test/toolchains', name), join(folder, name))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('an application on the published types', () => {
  it.each([
    [5, 'nodenext', 'nodenext'],
    [6, 'nodenext', 'nodenext'],
    [6, 'preserve', 'bundler'],
    [7, 'nodenext', 'nodenext'],
    [7, 'preserve', 'bundler'],
  ] as const)(
    'writes declarations of its own by TypeScript %i, %s and %s',
    async (version, module, moduleResolution) => {
      const compilerOptions = {
        ...{ module, moduleResolution, target: 'es2023', types: ['node'], strict: true },
        ...{ lib: ['es2023', 'esnext.disposable', 'dom'], experimentalDecorators: true },
        ...{ declaration: true, emitDeclarationOnly: true, skipLibCheck: false },
      }
      const name = `tsconfig.${version}-${moduleResolution}.json`
      const config = { compilerOptions, files: programs }
      await writeFile(join(folder, name), JSON.stringify(config))
      const compiled = await runNode(compilers[version], '-p', join(folder, name))
      expect(compiled).toEqual({ code: 0, output: '' })
    },
  )
})

describe('a new project', () => {
  it.each(['sqlite', 'postgres'])('with %s compiles by every TypeScript', async (records) => {
    const project = join(folder, records)
    for (const part of ['base', 'page', `records/${records}`, 'tests/node'])
      await cp(join(root, 'templates', part), project, { recursive: true })
    for (const compiler of Object.values(compilers)) {
      const compiled = await runNode(compiler, '-p', join(project, 'tsconfig.json'), '--noEmit')
      expect([compiler, compiled]).toEqual([compiler, { code: 0, output: '' }])
    }
  })
})
