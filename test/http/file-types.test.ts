/** Source: decisions, Responses. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Module,
  NoAuth,
  Post,
  type Application,
  type UploadedFile,
} from '../../src/index.js'

let app: Application
let folder: string

@Controller
class UploadController {
  @Post('/')
  @NoAuth
  async add(files: { file: UploadedFile }) {
    const { type } = files.file
    return { type, extension: extname(await files.file.moveTo(`${folder}/`)) }
  }
}

@Module({ controllers: [UploadController] })
class UploadModule {}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-types-'))
  app = await bootstrap(UploadModule, { listen: false, logger: false, env: {} })
})
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})

async function typeOf(content: string, name: string, type: string): Promise<unknown> {
  const form = new FormData()
  form.append('file', new Blob([Buffer.from(content, 'latin1')], { type }), name)
  const response = await app.handle(new Request('http://x/', { method: 'POST', body: form }))
  return response.json()
}

const office = 'application/vnd.openxmlformats-officedocument'

describe('the type of an uploaded file', () => {
  it.each([
    ['\x89PNG\r\n\x1a\n', 'image/png', '.png'],
    ['\xff\xd8\xff\xe0', 'image/jpeg', '.jpg'],
    ['GIF89a\x01\x00', 'image/gif', '.gif'],
    ['RIFF\x00\x00\x00\x00WEBPVP8 ', 'image/webp', '.webp'],
    ['\x00\x00\x00\x1cftypavif', 'image/avif', '.avif'],
    ['\x00\x00\x00\x18ftypheic', 'image/heic', '.heic'],
    ['II*\x00', 'image/tiff', '.tif'],
    ['\x00\x00\x00\x18ftypisom', 'video/mp4', '.mp4'],
    ['\x1aE\xdf\xa3', 'video/webm', '.webm'],
    ['RIFF\x00\x00\x00\x00WAVEfmt ', 'audio/wav', '.wav'],
    ['ID3\x04\x00', 'audio/mpeg', '.mp3'],
    ['PK\x03\x04\x14\x00', 'application/zip', '.zip'],
    ['\x1f\x8b\x08\x00', 'application/gzip', '.gz'],
    ['%PDF-1.7\n%\xe2\xe3', 'application/pdf', '.pdf'],
    ['{\\rtf1 x}', 'application/rtf', '.rtf'],
    ['<!DOCTYPE html><p>', 'text/html', '.txt'],
    ['\xef\xbb\xbf \n<script>', 'text/html', '.txt'],
    ['<svg xmlns="x"/>', 'image/svg+xml', '.txt'],
    ['<?xml version="1.0"?><svg/>', 'image/svg+xml', '.txt'],
    ['<?xml version="1.0"?><a/>', 'application/xml', '.txt'],
    ['a text', 'text/plain', '.txt'],
    ['\xff\xfea\x00', 'text/plain', '.txt'],
    ['\x00\x01\x02', 'application/octet-stream', '.bin'],
    ['', 'text/plain', '.txt'],
  ])('of %j is %s, whatever the client sends', async (content, type, extension) => {
    expect(await typeOf(content, 'page.js', 'text/javascript')).toEqual({ type, extension })
  })

  it.each([
    ['a;b\n1;2\n', 'table.csv', 'application/vnd.ms-excel', 'text/csv', '.csv'],
    ['a;b\n1;2\n', 'table', 'text/csv', 'text/csv', '.csv'],
    ['{"a":1}', 'blob', 'application/json', 'application/json', '.json'],
    ['# a', 'README.MD', '', 'text/markdown', '.md'],
    ['a', 'app.log', 'text/plain', 'text/plain', '.log'],
    ['PK\x03\x04\x14\x00', 'letter.docx', '', `${office}.wordprocessingml.document`, '.docx'],
    [
      'PK\x03\x04\x14\x00',
      'table.docx',
      `${office}.spreadsheetml.sheet`,
      `${office}.spreadsheetml.sheet`,
      '.xlsx',
    ],
    ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'old.xls', '', 'application/vnd.ms-excel', '.xls'],
  ])('of %j as %s (%s) is %s', async (content, name, claimed, type, extension) => {
    expect(await typeOf(content, name, claimed)).toEqual({ type, extension })
  })

  it.each([
    ['no pixels', 'photo.png', 'image/png', 'text/plain', '.txt'],
    ['\x00\x01\x02', 'photo.png', 'image/png', 'application/octet-stream', '.bin'],
    ['GIF89a=1;alert(1)', 'code.js', 'text/javascript', 'image/gif', '.gif'],
    ['BMW and ID3 and PK', 'a.bmp', 'image/bmp', 'text/plain', '.txt'],
    ['\xff\xd8\xff\xe0', 'photo.csv', 'text/csv', 'image/jpeg', '.jpg'],
    ['<?php phpinfo()', 'page.php', 'text/x-php', 'text/plain', '.txt'],
  ])('of %j, sent as %s (%s), is %s', async (content, name, claimed, type, extension) => {
    expect(await typeOf(content, name, claimed)).toEqual({ type, extension })
  })

  it('is found where the first bytes arrive one by one', async () => {
    const parts =
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n%PDF-1.7\r\n--b--\r\n'
    const bytes = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of Buffer.from(parts)) controller.enqueue(Uint8Array.of(byte))
        controller.close()
      },
    })
    const request = new Request('http://x/', {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: bytes,
      duplex: 'half',
    } as RequestInit)
    expect(await (await app.handle(request)).json()).toEqual({
      type: 'application/pdf',
      extension: '.pdf',
    })
  })
})
