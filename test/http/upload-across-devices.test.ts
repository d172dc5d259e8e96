/** @jest-environment node */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import * as files from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A system whose temporary folder is on another device, so files cannot be renamed out of it. */
jest.unstable_mockModule('node:fs/promises', () => ({
  ...files,
  rename: async (from: string, to: string) => {
    if (from.endsWith('temporary')) throw Object.assign(new Error('device'), { code: 'EXDEV' })
    if (to.endsWith('refused')) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
    await files.rename(from, to)
  },
}))
const { Upload } = await import('../../src/http/upload.js')

let folder = ''
beforeEach(async () => {
  folder = await files.mkdtemp(join(tmpdir(), 'filigree-test-'))
})
afterEach(async () => {
  await files.rm(folder, { recursive: true })
})

async function upload() {
  const path = join(folder, 'temporary')
  await files.writeFile(path, 'content')
  return new Upload({
    name: 'a.txt',
    content: { type: 'text/plain', extension: '.txt' },
    size: 7,
    path,
  })
}

describe('Upload.moveTo across devices', () => {
  it('copies the file and removes the temporary one', async () => {
    const file = await upload()
    const target = join(folder, 'kept/a.txt')
    expect(await file.moveTo(target)).toBe(target)
    expect(await file.bytes()).toEqual(Buffer.from('content'))
    expect(await files.readdir(folder)).toEqual(['kept'])
    expect(await files.readdir(join(folder, 'kept'))).toEqual(['a.txt'])
  })

  it('leaves no incomplete copy when the target cannot be written', async () => {
    const file = await upload()
    const target = join(folder, 'kept/refused')
    await expect(file.moveTo(target)).rejects.toMatchObject({ code: 'ENOSPC', message: 'full' })
    expect(await files.readdir(join(folder, 'kept'))).toEqual([])
    expect(await file.bytes()).toEqual(Buffer.from('content'))
  })
})
