/** A page that a visitor uploads and another visitor opens: its script must not run. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import {
  bootstrap,
  Controller,
  file,
  Get,
  Module,
  NoAuth,
  Post,
  type Application,
  type UploadedFile,
} from 'filigree'
import type { Attack } from './attack.js'

const script = '<script>fetch("/admin/api", { method: "POST" })</script>'
const svg = `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`

/** The file name, the media type that the client sends, and the content. */
const uploads: readonly (readonly [string, string, string])[] = [
  ['page.html', 'text/html', `<!DOCTYPE html>${script}`],
  ['page.htm', 'image/png', script],
  ['photo.png', 'image/png', `<html>${script}`],
  [
    'page.xhtml',
    'application/xhtml+xml',
    `<html xmlns="http://www.w3.org/1999/xhtml">${script}</html>`,
  ],
  ['drawing.svg', 'image/svg+xml', svg],
  ['drawing.svg', 'image/svg+xml', `<?xml version="1.0"?>\n${svg}`],
  ['feed.xml', 'text/xml', `<?xml version="1.0"?><a>${script}</a>`],
  ['code.js', 'text/javascript', 'alert(1)'],
  ['code.mjs', 'application/octet-stream', 'alert(1)'],
  ['late.html', 'text/html', `plain text first ${script}`],
  ['far.html', 'text/html', `${' '.repeat(5000)}${script}`],
  ['page.html\0.png', 'text/html', script],
  ['page.HTML', '', script],
]

/** Types that a browser executes when it opens the address. */
const executed = /html|xml|svg|javascript|ecmascript|pdf/i

function uploadApplication(folder: string): Promise<Application> {
  @Controller('/files')
  class FileController {
    @Post('/')
    @NoAuth
    async add(files: { file: UploadedFile }) {
      return { name: basename(await files.file.moveTo(folder)) }
    }

    @Post('/as/<name>')
    @NoAuth
    async addAs(files: { file: UploadedFile }, name: string) {
      return { name: basename(await files.file.moveTo(join(folder, name))) }
    }

    @Get('/<name>') show(name: string) {
      return file(name, { root: folder })
    }
  }
  @Module({ controllers: [FileController] })
  class FileModule {}
  return bootstrap(FileModule, { listen: false, logger: false, env: {} })
}

/** @returns the uploads that a browser would execute, with their headers */
async function openUploads(
  exact: boolean,
): Promise<{ readonly opened: number; readonly executing: readonly string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-attack-'))
  await using app = await uploadApplication(folder)
  const executing: string[] = []
  let opened = 0
  for (const [name, type, content] of uploads) {
    const form = new FormData()
    form.append('file', new Blob([content], { type }), name)
    const url = exact ? `/files/as/${encodeURIComponent(name.replace('\0', ''))}` : '/files'
    const answer = await app.handle(new Request(`http://x${url}`, { method: 'POST', body: form }))
    const stored = (await answer.json()) as { name: string }
    const { status, headers } = await app.inject({ url: `/files/${stored.name}` })
    if (status !== 200) throw new Error(`GET /files/${stored.name}: ${status}`)
    opened++
    const mayRun =
      executed.test(String(headers['content-type'])) ||
      headers['x-content-type-options'] !== 'nosniff'
    const isSaved = String(headers['content-disposition']).startsWith('attachment')
    const isSandboxed = String(headers['content-security-policy']).startsWith('sandbox')
    if (mayRun && !(isSaved && isSandboxed)) {
      executing.push(`${name} as ${stored.name.slice(-12)} (${String(headers['content-type'])})`)
    }
  }
  await rm(folder, { recursive: true })
  return { opened, executing }
}

const before =
  'The script of an uploaded .html, .svg or .js ran in the browser of every visitor who opened it.'

function attackBy(name: string, exact: boolean): Attack {
  return {
    name,
    before,
    async run() {
      const { opened, executing } = await openUploads(exact)
      const now = `${executing.length} of ${opened} uploads can be executed ${executing.join('; ')}`
      return { now, isBlocked: executing.length === 0 }
    },
  }
}

export const attacks: readonly Attack[] = [
  attackBy('upload: a page with a script, moved to a folder and sent by file()', false),
  attackBy('upload: a page with a script, moved to its own name and sent by file()', true),
]
