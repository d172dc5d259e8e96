/** node:test cancels a test that awaits something once nothing keeps the process alive; a script ends with code 13. */
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import { bundleProgram } from '../bundle-program.js'

it('a pending event of a live query keeps the process of a test alive, until the application closes', async () => {
  const program = bundleProgram('modules/live-query-script')
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: 60_000 })
    expect(stdout.split('\n')).toEqual([
      '{"version":1,"data":[]}',
      '{"version":2,"set":[{"id":1,"name":"lamp 1"}],"gone":[]}',
      '{"version":3,"set":[{"id":2,"name":"lamp 2"}],"gone":[]}',
      'true',
      '',
    ])
  } finally {
    await rm(program)
  }
})
