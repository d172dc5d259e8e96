import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { root, runNode } from '../openapi/command.js'

const compilers = { 6: 'node_modules/typescript/bin/tsc', 7: 'node_modules/typescript7/bin/tsc' }
let folder: string

/** A folder with an application and the installed package, which has only its own dependencies. */
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'filigree-')))
  const published = join(folder, 'node_modules/filigree')
  await mkdir(published, { recursive: true })
  await cp(join(root, 'package.json'), join(published, 'package.json'))
  await cp(join(root, 'dist'), join(published, 'dist'), { recursive: true })
  const { dependencies } = JSON.parse(await readFile(join(published, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>
  }
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    const link = join(folder, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(root, 'node_modules', name), link, 'junction')
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await cp(join(root, 'test/toolchains/published.ts'), join(folder, 'published.ts'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('an application on the published types', () => {
  it.each([
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
      const config = { compilerOptions, files: ['published.ts'] }
      await writeFile(join(folder, name), JSON.stringify(config))
      const compiled = await runNode(compilers[version], '-p', join(folder, name))
      expect(compiled).toEqual({ code: 0, output: '' })
    },
  )
})
