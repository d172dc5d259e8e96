/**
 * Takes the picture of the README: the development page next to the documentation, of an application that `filigree dev` runs:
 * `npm run build && TSX_TSCONFIG_PATH=test/tsconfig.json node --import tsx test/browser/development-screenshot.ts`
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../repository/source-files.js'
import { withPage } from './open-page.js'
import { toSmallPng } from './small-png.js'
import { waitUntil } from '../wait-until.js'

const folder = mkdtempSync(join(tmpdir(), 'filigree-picture-'))
const url = 'http://localhost:3987'
mkdirSync(join(folder, 'node_modules'))
symlinkSync(root, join(folder, 'node_modules/filigree'))
symlinkSync(join(root, 'node_modules/tsx'), join(folder, 'node_modules/tsx'))
cpSync(join(root, 'test/browser/development-desk.ts'), join(folder, 'main.ts'))
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')

const dev = spawn(process.execPath, [join(root, 'dist/server/cli.js'), 'dev', 'main.ts'], {
  cwd: folder,
  env: { ...process.env, PORT: '3987', TSX_TSCONFIG_PATH: undefined },
})
/** Reads the URL of the page from the output of the command. */
const opened = new Promise<string>((resolve) => {
  let printed = ''
  dev.stdout.on('data', (data) => {
    printed += String(data)
    const address = /http:\S+secret=\S+/.exec(printed)?.[0]
    if (address !== undefined) resolve(address)
  })
})
try {
  await waitUntil(() =>
    fetch(`${url}/tickets`).then(
      () => true,
      () => false,
    ),
  )
  const post = (path: string, body: object) =>
    fetch(url + path, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: { 'Content-Type': 'application/json' },
    })
  for (const title of ['No network', 'Printer on fire', 'Cold coffee', 'Chair squeaks'])
    await post('/tickets', { title })
  await post('/graphql', { query: '{ tickets(limit: 3) { title comments { text } } }' })
  await fetch(`${url}/tickets?fields=id,title`)
  await fetch(`${url}/tickets/figures`)
  await withPage(url, async ({ page }) => {
    await page.setViewportSize({ width: 760, height: 760 })
    await page.goto(await opened)
    await page.getByRole('link', { name: 'GET /tickets/figures' }).first().click()
    await page.getByText('N + 1').first().waitFor()
    const development = (await page.screenshot()).toString('base64')
    await page.goto(`${url}/swagger`)
    await page.locator('.opblock').first().waitFor()
    const swagger = (await page.screenshot()).toString('base64')
    await page.setViewportSize({ width: 1520, height: 760 })
    await page.goto('about:blank')
    await page.setContent(
      `<body style="margin:0;display:flex">${[development, swagger]
        .map((image) => `<img src="data:image/png;base64,${image}" width="760" height="760">`)
        .join('')}</body>`,
    )
    await page.evaluate('Promise.all([...document.images].map((image) => image.decode()))')
    const target = join(root, 'docs/development.png')
    writeFileSync(target, await toSmallPng(page, await page.screenshot()))
  })
} finally {
  dev.kill()
  rmSync(folder, { recursive: true, force: true })
}
