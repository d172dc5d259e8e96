/** The size of the admin page, the origins that it names, and whether its messages are the same as the server's. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import { checkOf, describeFields, Field } from 'filigree'
import { findFieldError } from '../../client/admin/field-rules.js'
import type { FieldInfo } from '../../client/admin/schema.js'
import { english } from '../../src/modules/admin/texts/english.js'
import { root } from '../repository/source-files.js'

describe('the admin page', () => {
  it('is at most 45 KB with gzip and English texts, writes no HTML and names no other origin', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'filigree-admin-size-'))
    try {
      await promisify(execFile)(process.execPath, ['client/admin/build.mjs', folder], { cwd: root })
      const read = (name: string): Buffer => readFileSync(join(folder, name))
      const loaded = [read('admin.js'), read('admin.css'), Buffer.from(JSON.stringify(english))]
      const size = loaded.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0)
      expect(size).toBeLessThanOrEqual(45_000)
      const text = readdirSync(folder)
        .map((name) => String(read(name)))
        .join('\n')
      expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/)
      expect(text.match(/(?:https?:)?\/\/[\w.-]+\.\w+[^"'`]*/g)).toEqual([
        'http://www.w3.org/2000/svg',
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it.each([
    [{ kind: 'string', minLength: 3 }, 'x'],
    [{ kind: 'string', minLength: 1 }, ''],
    [{ kind: 'string', maxLength: 2 }, 'x😀y'],
    [{ kind: 'string', pattern: '^[A-Z]+$' }, 'low'],
    [{ kind: 'string', oneOf: ['a', 'b'] }, 'c'],
    [{ kind: 'integer', min: 2 }, 1],
    [{ kind: 'integer', max: 2 }, 3],
    [{ kind: 'integer' }, 'three'],
    [{ kind: 'integer' }, 1.5],
    [{ kind: 'numeric' }, 'three'],
    [{ kind: 'date' }, 'soon'],
    [{ kind: 'time' }, 'soon'],
    [{ kind: 'datetime' }, 'soon'],
    [{ kind: 'uuid' }, 'soon'],
    [{ kind: 'bigint' }, 'soon'],
    [{ kind: 'blob', maxLength: 2 }, 'aGVsbG8='],
    [{ kind: 'string' }, undefined],
    [{ kind: 'string' }, null],
  ] as const)('says what the server says of %j %j', async (rules, value) => {
    const { kind, ...others } = rules as unknown as { kind: 'string' }
    class Body {
      @Field(kind, others) field!: unknown
    }
    const check = async (): Promise<unknown> => await checkOf(Body)({ field: value })
    const words = await check().then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    )
    const [described] = describeFields(Body)
    const info: FieldInfo = {
      ...{ name: 'field', required: true, kind: described!.presentation },
      ...others,
    }
    const error = findFieldError(info, value, true)
    expect(error === undefined ? undefined : `field ${error.message}`).toBe(words)
  })

  it("has the application's words for a rule", () => {
    class Tube {
      @Field('string', { pattern: '^S', messages: { pattern: 'It begins with S.' } }) code!: string
    }
    const [described] = describeFields(Tube)
    const { messages } = described!
    const info = { name: 'code', pattern: '^S', kind: described!.presentation, messages }
    expect(findFieldError(info, 'X', true)).toEqual({
      path: '',
      message: 'It begins with S.',
      isComplete: true,
    })
  })
})
