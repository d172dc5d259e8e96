/** Listening to changes of many records causes no warnings of the driver. */
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, expect, it } from '@jest/globals'
import { bundleProgram } from '../bundle-program.js'
import { startPostgres } from './postgres-server.js'

const server = await startPostgres()
afterAll(() => server.close())

it('listens to many records concurrently, and to other ones afterwards, without a process warning', async () => {
  const program = bundleProgram('records/listening-process')
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [program, await server.createDatabase()])
  await rm(program)
  expect(JSON.parse(stdout)).toEqual([])
})
