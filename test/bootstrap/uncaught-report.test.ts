import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from '@jest/globals'

const fixture = fileURLToPath(new URL('./fixtures/faulty.ts', import.meta.url))

/** Runs the program whose start fails. */
async function runFaulty(variables: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, ['--import', 'tsx', fixture], {
    env: { ...process.env, DEBUG: '', TSX_TSCONFIG_PATH: 'test/tsconfig.json', ...variables },
  })
  const ended = once(child, 'exit')
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await ended) as [number | null]
  return { code, out, err }
}

it('a start that fails shows its report alone', async () => {
  const { code, out, err } = await runFaulty({})
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err.split('\n')).toEqual([
    'Filigree cannot start: 1 problem',
    expect.stringMatching(/^ 1 GET \/items.*unknown type "integer"/),
    '',
  ])
})

it('with DEBUG=filigree it shows where the report was made', async () => {
  const { code, err } = await runFaulty({ DEBUG: 'other,filigree' })
  expect(code).toBe(1)
  expect(err).toMatch(/Filigree cannot start: 1 problem\n 1 GET [^]*\n\s+at /)
})
