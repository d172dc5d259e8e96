/** Help texts and errors, which are alike in all commands. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { useFolder } from './run-in.js'

const place = useFolder()
const { run } = place

describe('every command', () => {
  const all = [
    'new',
    'dev',
    'routes',
    'explain',
    'token',
    'keys',
    'migrate',
    'copy',
    'changes',
    'run',
    'console',
    'doctor',
    'openapi',
    'types',
    'pull',
  ]

  it.each(all)(
    '%s names an option that is near, in few lines, on standard error alone',
    async (name) => {
      const { code, out, err } = await run(name, '--helpp')
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toContain('unknown option --helpp')
      expect(err.split('\n').length).toBeLessThanOrEqual(14)
      expect(err).not.toMatch(/\n\s+at /)
    },
  )

  it.each(all)('%s has a help text', async (name) => {
    const { code, out, err } = await run(name, '--help')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain(`filigree ${name}`)
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([])
  })

  it('is in the list, with its purpose', async () => {
    const { out } = await run('--help')
    for (const name of all) expect(out).toContain(`filigree ${name}`)
    const none = await run()
    expect(none).toMatchObject({ code: 2, out: '' })
    expect(none.err.split('\n').length).toBeLessThanOrEqual(14)
  })

  it('explains what to do if the module is missing', async () => {
    await writeFile(join(place.folder, 'package.json'), '{}')
    const { code, err } = await run('routes')
    expect(code).toBe(2)
    expect(err).toContain('"filigree": { "module": "dist/app-module.js" }')
  })
})
