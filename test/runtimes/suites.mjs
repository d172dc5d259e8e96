/**
 * Runs suites on a runtime without Jest: each is bundled into one file, with `small-jest.mjs` instead of Jest.
 *
 *     node test/runtimes/suites.mjs bun test/records/sqlite.test.ts
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))

/** The contract of databases, the suites of the drivers, and what clients see of a server. */
export const contractSuites = [
  'test/records/sqlite.test.ts',
  'test/engines/sqlite-drivers.test.ts',
  'test/engines/reader-threads.test.ts',
  'test/bootstrap/listener.test.ts',
  'test/bootstrap/listener-sockets.test.ts',
]

/**
 * @param command the runtime: `['bun']`, `['deno', 'run', '-A']`
 * @param project a folder with the project, installed
 * @returns the number of passed tests; throws with the failures
 */
export async function runSuitesOn(command, project, suites = contractSuites) {
  const { build } = await import('esbuild')
  const place = join(project, 'node_modules/.cache/filigree-suites')
  mkdirSync(place, { recursive: true })
  let passed = 0
  const failed = []
  for (const suite of suites) {
    const outfile = join(place, `${basename(suite, '.ts')}.mjs`)
    await build({
      stdin: {
        contents: `import ${JSON.stringify(join(project, suite))}
          import { runSuites } from ${JSON.stringify(join(here, 'small-jest.mjs'))}
          const { passed, failed } = await runSuites()
          for (const { name, error } of failed) console.error(name + '\\n  ' + (error?.message ?? error))
          console.log('suite passed ' + passed + ' failed ' + failed.length)
          process.exit(failed.length === 0 ? 0 : 1)`,
        resolveDir: project,
      },
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      // Suites are imported only for their effects.
      ignoreAnnotations: true,
      alias: {
        '@jest/globals': join(here, 'small-jest.mjs'),
        filigree: join(project, 'src/index.ts'),
      },
      tsconfig: join(project, 'test/tsconfig.json'),
      logLevel: 'error',
    })
    const [program, ...args] = command
    const { stdout, stderr } = spawnSync(program, [...args, outfile], {
      cwd: project,
      encoding: 'utf8',
      timeout: 600_000,
    })
    rmSync(outfile)
    const [, good, bad] = /suite passed (\d+) failed (\d+)/.exec(stdout) ?? []
    passed += Number(good ?? 0)
    if (bad !== '0') failed.push(`${suite}: ${bad ?? 'did not end'}\n${stderr.slice(-4000)}`)
  }
  if (failed.length > 0) throw new Error(`${passed} passed. ${failed.join('\n')}`)
  return passed
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , runtime = 'node', ...suites] = process.argv
  const command = runtime.endsWith('deno') ? [runtime, 'run', '-A'] : [runtime]
  const project = fileURLToPath(new URL('../..', import.meta.url))
  const chosen = suites.length > 0 ? suites : contractSuites
  console.log(`${await runSuitesOn(command, project, chosen)} passed`)
}
