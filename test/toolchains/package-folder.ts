/** A folder for applications on the package, which has only its own dependencies. */
import { cp, mkdir, mkdtemp, readFile, realpath, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from '../openapi/command.js'

/**
 * @param more names of further packages to link
 *
 * @returns the folder, and the folder of the package inside, without built files
 */
export async function createPackageFolder(
  ...more: string[]
): Promise<{ folder: string; published: string }> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'filigree-')))
  const published = join(folder, 'node_modules/filigree')
  await mkdir(published, { recursive: true })
  await cp(join(root, 'package.json'), join(published, 'package.json'))
  const { dependencies } = JSON.parse(await readFile(join(published, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>
  }
  for (const name of [...Object.keys(dependencies), ...more]) {
    const link = join(folder, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(root, 'node_modules', name), link, 'junction')
  }
  return { folder, published }
}
