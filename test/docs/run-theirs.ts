/** Installs a library, compiles its blocks, starts each one, and compares its responses with the page. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { join } from 'node:path'
import { freePort, isListening } from '../free-port.js'
import { installTool, root } from '../tools/install.js'
import { toPattern } from '../tutorial/pages.js'
import type { Library } from './libraries.js'
import { toComparable, type Pair, type PairPage } from './pairs.js'
import { runCurl, type Jar } from './requests.js'
import { waitUntil } from '../wait-until.js'

export interface Outcome {
  readonly version: string
  readonly count: number
  /** One for each block that differs from the page. */
  readonly problems: readonly string[]
}

const settings = {
  compilerOptions: {
    ...{ target: 'es2022', module: 'nodenext', lib: ['es2023', 'dom', 'esnext.disposable'] },
    ...{ strict: true, skipLibCheck: true, esModuleInterop: true, types: ['*'], outDir: 'out' },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true, rootDir: '.' },
    useDefineForClassFields: false,
  },
  include: ['**/*.ts'],
  exclude: ['out'],
}

export async function runPage(page: PairPage, library: Library): Promise<Outcome> {
  const { folder, version } = installTool(`coming-from-${library.side}`, library.packages)
  const blocks = join(folder, 'blocks')
  rmSync(blocks, { recursive: true, force: true })
  mkdirSync(blocks)
  writeFileSync(join(blocks, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(blocks, 'tsconfig.json'), JSON.stringify(settings))
  const pairs = page.pairs.filter(({ blocks }) => blocks.has(library.side))
  for (const [at, { blocks: code }] of pairs.entries()) {
    mkdirSync(join(blocks, String(at)))
    const program = library.toProgram(code.get(library.side) ?? '')
    writeFileSync(join(blocks, String(at), 'main.ts'), program)
  }
  library.prepare?.(
    folder,
    pairs.map(({ blocks: code }) => code.get(library.side) ?? ''),
  )
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', blocks, '--pretty', 'false'], {
    encoding: 'utf8',
    cwd: blocks,
  })
  const problems = stdout === '' ? [] : [stdout]
  for (const [at, pair] of pairs.entries()) {
    const problem = await runPair(folder, join(blocks, 'out', String(at), 'main.js'), pair, library)
    if (problem !== undefined) problems.push(`${pair.title}: ${problem}`)
  }
  return { version, count: pairs.length, problems }
}

type SideCheck = Pair['checks'][number]

async function runPair(
  folder: string,
  program: string,
  { checks }: Pair,
  { side }: Library,
): Promise<string | undefined> {
  const sideChecks = checks.filter(({ of }) => of === undefined || of === side)
  try {
    if (sideChecks.every(({ kind }) => kind !== 'request'))
      compareLines(folder, program, sideChecks)
    else await checkServer(folder, program, sideChecks)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** @throws {Error} the output differs from the page */
function compareLines(folder: string, program: string, checks: readonly SideCheck[]): void {
  const operations = checks.flatMap((check) =>
    check.kind === 'operation' ? [check.operation] : [],
  )
  const args = [program, JSON.stringify(operations)]
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    ...{ cwd: folder, encoding: 'utf8', timeout: 60_000 },
  })
  const lines = stdout.split('\n')
  for (const [at, check] of checks.entries()) {
    if (check.kind === 'request') continue
    const expected = check.kind === 'value' ? check.value : check.result
    const line = lines[at] ?? ''
    if (line === '' || !isDeepStrictEqual(toComparable(JSON.parse(line)), expected))
      throw new Error(`printed ${line}\n${stderr}`)
  }
}

/** @throws {Error} the program does not start, or a response differs from the page */
async function checkServer(
  folder: string,
  program: string,
  checks: readonly SideCheck[],
): Promise<void> {
  const port = await freePort()
  const server = spawn(process.execPath, [program], {
    ...{ cwd: folder, env: { ...process.env, PORT: String(port) } },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [server.stdout, server.stderr])
    stream.on('data', (chunk) => {
      log += String(chunk)
    })
  try {
    await answers(server, port)
    const jar: Jar = new Map()
    for (const check of checks) {
      if (check.kind !== 'request') continue
      const printed = await runCurl(check.command, `http://localhost:${port}`, jar, fetch)
      const output = `$ ${check.command}\n${printed}`
      if (!toPattern(check.command, check.answer).test(output)) throw new Error(output)
    }
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${log}`, { cause: error })
  } finally {
    server.kill('SIGKILL')
  }
}

function answers(server: ChildProcess, port: number): Promise<void> {
  return waitUntil(() => {
    if (server.exitCode !== null) throw new Error('It did not start.')
    return isListening(port, 'localhost')
  })
}
