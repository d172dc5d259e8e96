/** What the builds of the server and of the GraphQL IDE do with the files of other packages: their licences, and compression. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/**
 * The licences of the packages whose files are in a bundle: each asks to be kept with its copies.
 *
 * @param inputs paths of files, those of packages below a `node_modules`
 */
export async function readLicences(inputs) {
  const folders = new Set(
    inputs.flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []),
  )
  const texts = [...folders].sort().map(async (folder) => {
    const { version, license } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'))
    const name = (await readdir(folder)).find((file) => /^licen[cs]e/i.test(file))
    if ((name ?? license) === undefined) throw new Error(`${folder} has no licence.`)
    const title = `${folder.replace(/^.*node_modules\//, '')} ${version}`
    const text = name === undefined ? license : await readFile(`${folder}/${name}`, 'utf8')
    return `${title}\n\n${text}\n---\n\n`
  })
  return (await Promise.all(texts)).join('')
}

/** Stores the files of a page compressed, as browsers get them: a quarter of their size (src/http/page-files.ts). */
export async function compressFiles(folder) {
  for (const name of await readdir(folder)) {
    if (!/\.(?:css|js|ttf)$/.test(name)) continue
    const file = join(folder, name)
    await writeFile(`${file}.gz`, gzipSync(await readFile(file), { level: 9 }))
    await rm(file)
  }
}
