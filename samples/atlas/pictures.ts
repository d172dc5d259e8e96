/** One picture for each country: uploaded with a token, served to everybody. */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Controller, Doc, file, Get, HttpError, Put, reply, type UploadedFile } from 'filigree'
import { World } from './world.js'

const extensions: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
}

/** Where the pictures lie: a folder of the system's temporary one, kept between starts. */
export class PictureFolder {
  readonly path = join(tmpdir(), 'filigree-atlas-pictures')

  constructor() {
    mkdirSync(this.path, { recursive: true })
  }

  /** The file's name, where the country has a picture. */
  find(code: string): string | undefined {
    return Object.values(extensions)
      .map((extension) => `${code}.${extension}`)
      .find((name) => existsSync(join(this.path, name)))
  }

  async keep(code: string, upload: UploadedFile, extension: string): Promise<void> {
    for (const name of readdirSync(this.path)) {
      if (name.startsWith(`${code}.`)) rmSync(join(this.path, name))
    }
    await upload.moveTo(join(this.path, `${code}.${extension}`))
  }
}

@Controller('/countries/<code:slug>/picture')
@Doc({ tags: ['pictures'] })
export class PictureController {
  static inject = [World, PictureFolder]
  readonly #world: World
  readonly #folder: PictureFolder

  constructor(world: World, folder: PictureFolder) {
    this.#world = world
    this.#folder = folder
  }

  @Get
  @Doc({ description: 'The picture of a country, as it was uploaded.' })
  show(code: string) {
    const name = this.#folder.find(this.#existing(code))
    if (name === undefined) throw new HttpError(404, `${code.toUpperCase()} has no picture yet.`)
    return file(name, { root: this.#folder.path })
  }

  @Put({ limit: '5mb', status: 201 })
  @Doc({
    description: 'Uploads the picture of a country: PNG, JPEG or WebP, one file named "picture".',
    files: { picture: 'PNG, JPEG or WebP, at most 5 MB' },
    exampleResponse: { country: 'IS', type: 'image/png', size: 48213 },
  })
  async keep(code: string, files: { picture?: UploadedFile }) {
    const { picture } = files
    if (picture === undefined || Array.isArray(picture)) {
      throw new HttpError(400, 'Send one file named "picture".')
    }
    const extension = extensions[picture.type]
    if (extension === undefined) throw new HttpError(415, 'Send a PNG, JPEG or WebP picture.')
    await this.#folder.keep(this.#existing(code), picture, extension)
    return reply({ country: code.toUpperCase(), type: picture.type, size: picture.size }, 201)
  }

  #existing(code: string): string {
    const country = this.#world.country(code)
    if (country === undefined) throw new HttpError(404, `There is no country ${code}.`)
    return country.code
  }
}
