import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from '@jest/globals'

/** Runs a program that fails to start. */
async function runFaulty(variables: Readonly<Record<string, string>>, name = 'faulty.ts') {
  const fixture = fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', fixture], {
    env: { ...process.env, DEBUG: '', TSX_TSCONFIG_PATH: 'test/tsconfig.json', ...variables },
  })
  const ended = once(child, 'exit')
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await ended) as [number | null]
  return { code, out, err }
}

it('a failed start prints only its report', async () => {
  const { code, out, err } = await runFaulty({})
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err.split('\n')).toEqual([
    'Filigree cannot start: 1 problem',
    expect.stringMatching(/^ 1 GET \/items.*unknown type "integer"/),
    '',
  ])
})

it('with DEBUG=filigree it prints where the report was made', async () => {
  const { code, err } = await runFaulty({ DEBUG: 'other,filigree' })
  expect(code).toBe(1)
  expect(err).toMatch(/Filigree cannot start: 1 problem\n 1 GET [^]*\n\s+at /)
})

const cycle = 'test/bootstrap/fixtures/import-cycle'

it('files that import each other are named, with the class that is used too early', async () => {
  const { code, out, err } = await runFaulty({}, 'import-cycle/main.ts')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err.split('\n')).toEqual([
    'Filigree cannot start: 1 problem',
    ` 1 ${cycle}/tickets-module.ts:4 uses PeopleModule before it is defined, because files import each other: ${cycle}/tickets-module.ts → ${cycle}/people-module.ts → ${cycle}/shared.ts → ${cycle}/tickets-module.ts.  Write () => PeopleModule in the decorator (and Rel<PeopleModule> as the type of a relation), or move what both files need into a third one.`,
    '',
  ])
})

it('a class that is used above its declaration is named', async () => {
  const { code, err } = await runFaulty({}, 'import-cycle/one-file.ts')
  expect(code).toBe(1)
  expect(err).toMatch(
    /^Filigree cannot start: 1 problem\n 1 \S+one-file\.ts:5 uses DeclaredBelow, which is declared further down in the file\. {2}Move DeclaredBelow up/,
  )
})
