/** Nine toolchains that compile TypeScript. Each compiles the framework and the application in `app`. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { transform as transformBySwc } from '@swc/core'
import { build as bundleByEsbuild, transform as transformByEsbuild } from 'esbuild'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
/** Inside `node_modules`, where packages are found and tools ignore the files. */
const outputs = join(root, 'node_modules/.cache/filigree-toolchains')

export interface Toolchain {
  readonly name: string
  /** Whether it emits the types of decorated properties. */
  readonly emitsTypes: boolean
  /** Compiles everything once. */
  readonly prepare: () => Promise<void>
  /** @returns the output of a file of the application */
  readonly print: (file: 'main' | 'faulty') => Promise<string>
}

export const toolchains: readonly Toolchain[] = [
  // `npm run typecheck` checks the types with TypeScript 6. This checks them with version 7.
  toToolchain('tsc 6', (output) => compileByTsc('typescript', output, '--noCheck')),
  // The oldest supported version, which new projects have.
  toToolchain('tsc 5', (output) =>
    compileByTsc('../test/tools/node_modules/typescript5', output, '--noCheck'),
  ),
  toToolchain('tsc 7', (output) => compileByTsc('typescript7', output)),
  toToolchain('SWC', (output) => compileEach(output, toSwc)),
  toToolchain('esbuild', (output) => compileEach(output, toEsbuild), false),
  toToolchain(
    'tsc 7, standard decorators',
    (output) =>
      compileByTsc(
        'typescript7',
        output,
        ...['--experimentalDecorators', 'false', '--emitDecoratorMetadata', 'false'],
      ),
    false,
  ),
  toToolchain(
    'esbuild, standard decorators',
    (output) => compileEach(output, toStandardEsbuild),
    false,
  ),
  toToolchain('esbuild, one file', (output) => bundle(output, false), false),
  toToolchain('esbuild, one minified file', (output) => bundle(output, true), false),
  {
    name: 'tsx',
    emitsTypes: false,
    prepare: () => Promise.resolve(),
    print: (file) =>
      print(['--import', 'tsx', join(root, `test/toolchains/app/${file}.ts`)], {
        TSX_TSCONFIG_PATH: join(root, 'test/tsconfig.json'),
      }),
  },
]

function toToolchain(
  name: string,
  compile: (output: string) => Promise<unknown>,
  emitsTypes = true,
): Toolchain {
  const output = join(outputs, name.replaceAll(/\W+/g, '-'))
  return {
    name,
    emitsTypes,
    prepare: async () => {
      await rm(output, { recursive: true, force: true })
      await compile(output)
      await linkPackage(output)
    },
    print: (file) => print([join(output, `test/toolchains/app/${file}.js`)]),
  }
}

function compileByTsc(pack: string, output: string, ...more: string[]): Promise<unknown> {
  const compiler = join(root, 'node_modules', pack, 'bin/tsc')
  return run(process.execPath, [compiler, '-p', import.meta.dirname, '--outDir', output, ...more])
}

type Transform = (code: string) => Promise<{ code: string }>

async function compileEach(output: string, transform: Transform): Promise<void> {
  for (const path of [...(await sources('src')), ...(await sources('test/toolchains/app'))]) {
    const target = join(output, path.replace(/\.ts$/, '.js'))
    const { code } = await transform(await readFile(join(root, path), 'utf8'))
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, code)
  }
}

async function sources(folder: string): Promise<string[]> {
  const names = await readdir(join(root, folder), { recursive: true })
  return names.filter((name) => name.endsWith('.ts')).map((name) => join(folder, name))
}

/**
 * Bundles the application and the framework into one file. Arguments are renamed, so routes need `args`. `keepNames` keeps the names
 * of classes, which are used in schemas and in GraphQL types.
 */
async function bundle(output: string, minify: boolean): Promise<void> {
  const folder = join(root, 'test/toolchains/app')
  await bundleByEsbuild({
    entryPoints: [join(folder, 'main.ts'), join(folder, 'faulty.ts')],
    outdir: join(output, 'test/toolchains/app'),
    bundle: true,
    minify,
    keepNames: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    tsconfigRaw: {
      compilerOptions: {
        experimentalDecorators: true,
        verbatimModuleSyntax: true,
        paths: { filigree: [join(root, 'src/index.ts')] },
      },
    },
    // Bundled CommonJS packages require Node modules.
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
    },
    external: ['better-sqlite3', 'pg', '@electric-sql/pglite'],
    logLevel: 'error',
  })
}

const toSwc: Transform = (code) =>
  transformBySwc(code, {
    configFile: false,
    swcrc: false,
    module: { type: 'es6' },
    jsc: {
      target: 'es2022',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, verbatimModuleSyntax: true },
    },
  })

const toEsbuild: Transform = (code) =>
  transformByEsbuild(code, {
    loader: 'ts',
    target: 'es2023',
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true, verbatimModuleSyntax: true } },
  })

const toStandardEsbuild: Transform = (code) =>
  transformByEsbuild(code, {
    loader: 'ts',
    target: 'es2022',
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  })

/** Makes `filigree` resolve to the compiled framework for the compiled application. */
async function linkPackage(output: string): Promise<void> {
  const packageFolder = join(output, 'node_modules/filigree')
  await mkdir(packageFolder, { recursive: true })
  await writeFile(join(output, 'package.json'), '{ "type": "module" }')
  await writeFile(
    join(packageFolder, 'package.json'),
    '{ "type": "module", "exports": "./index.js" }',
  )
  await writeFile(join(packageFolder, 'index.js'), `export * from '../../src/index.js'\n`)
}

async function print(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const { stdout } = await run(process.execPath, ['--no-warnings', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, NODE_ENV: 'test', APP_API_KEY: 'key', ...env },
  })
  return stdout
}
