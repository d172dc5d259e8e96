/** A browser does not run the scripts of uploaded pages. Source: decisions, Responses. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  file,
  Get,
  html,
  Module,
  NoAuth,
  Post,
  type Application,
  type UploadedFile,
} from 'filigree'
import { withPage } from './open-page.js'

const time = 60_000
let app: Application
let folder: string
/** The number of requests from scripts of uploaded files. */
let calls = 0

@Controller
class FileController {
  @Get('/') start() {
    return html('<!DOCTYPE html><title>Start</title>')
  }

  @Post('/files/<name>')
  @NoAuth
  async add(files: { file: UploadedFile }, name: string) {
    const target = name === 'any' ? `${folder}/` : join(folder, name)
    return { name: basename(await files.file.moveTo(target)) }
  }

  @Get('/files/<name>') show(name: string) {
    return file(name, { root: folder })
  }

  @Get('/inline/<name>') showInline(name: string) {
    return file(name, { root: folder, inline: true })
  }

  @Post('/called')
  @NoAuth
  called() {
    calls++
    return { calls }
  }
}

@Module({ controllers: [FileController] })
class FileModule {}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-browser-'))
  app = await bootstrap(FileModule, { port: 0, host: '127.0.0.1', logger: false, env: {} })
})
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})

const code = `fetch('/called', { method: 'POST' }).then(() => { document.title = 'called' })`
const contents: Readonly<Record<string, string>> = {
  'page.html': `<!DOCTYPE html><script>${code}</script>`,
  'drawing.svg': `<svg xmlns="http://www.w3.org/2000/svg"><script>${code}</script></svg>`,
}

/** Uploads a file by a form in the page of the application. */
async function upload(name: string, target: string): Promise<string> {
  const form = new FormData()
  form.append('file', new Blob([contents[name] ?? '']), name)
  const answer = await fetch(`${app.url}/files/${target}`, { method: 'POST', body: form })
  return ((await answer.json()) as { name: string }).name
}

describe('an uploaded page in a browser', () => {
  it.each(Object.keys(contents))(
    'does not run when a visitor opens it: %s',
    async (name) => {
      const stored = await upload(name, name)
      const fresh = await upload(name, 'any')
      calls = 0
      const saved = await withPage(app.url, async ({ page }) => {
        await page.goto(`${app.url}/`)
        const download = page.waitForEvent('download')
        // A download does not end the navigation.
        await page.goto(`${app.url}/files/${stored}`).catch(() => undefined)
        const url = (await download).url()
        await page.goto(`${app.url}/files/${fresh}`)
        const text = await page.evaluate(() => document.body.textContent)
        // The same inside a frame of the application.
        await page.goto(`${app.url}/`)
        await page.evaluate(async (address) => {
          const frame = document.createElement('iframe')
          frame.src = address
          document.body.append(frame)
          const picture = new Image()
          picture.src = address
          await picture.decode().catch(() => undefined)
        }, `/files/${stored}`)
        return { url, isText: text.includes('fetch(') }
      })
      expect(saved).toEqual({ url: `${app.url}/files/${stored}`, isText: true })
      expect(calls).toBe(0)
    },
    time,
  )

  it.each(Object.keys(contents))(
    'would run with inline: true, so that the test above sees scripts: %s',
    async (name) => {
      const stored = await upload(name, name)
      calls = 0
      await withPage(app.url, async ({ page }) => {
        await page.goto(`${app.url}/inline/${stored}`)
        await page.waitForFunction(() => document.title === 'called')
      })
      expect(calls).toBe(1)
    },
    time,
  )
})
