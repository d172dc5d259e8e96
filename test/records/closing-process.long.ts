/** A script may wait for `close()`: the process does not end before it, with code 13 and without a word. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import { bundleProgram } from '../bundle-program.js'

it('close() of an application on a SQLite file ends in a process that does nothing else', async () => {
  const program = bundleProgram('records/closing-process')
  const folder = await mkdtemp(join(tmpdir(), 'filigree-closing-'))
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program, folder])
    expect(stdout).toBe('closed\n')
  } finally {
    await rm(program)
    await rm(folder, { recursive: true })
  }
})
