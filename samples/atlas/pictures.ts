/** One picture for each country: uploaded with a token, and public. */
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  Controller,
  Database,
  Doc,
  file,
  Get,
  HttpError,
  Put,
  reply,
  type UploadedFile,
  type Row,
} from 'filigree'
import { Picture, type Country } from './records.js'
import { World } from './world.js'

const extensions: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
}

/** The folder of the files. The database knows which country each file belongs to. */
export class PictureFolder {
  readonly path: string

  /** @param path created for the first file */
  constructor(path = './data/pictures') {
    this.path = path
  }
}

export class Pictures {
  static inject = [Database, PictureFolder]
  readonly folder: PictureFolder
  readonly #database: Database

  constructor(database: Database, folder: PictureFolder) {
    this.#database = database
    this.folder = folder
  }

  async find({ id }: Row<Country>): Promise<Row<Picture> | undefined> {
    const pictures = this.#database.records(Picture)
    const [picture] = await pictures.list({ where: { countryId: id }, limit: 1 })
    return picture
  }

  /**
   * Stores the file, then the record, then deletes the old file: after an interruption the record still has its file.
   */
  async keep(country: Row<Country>, upload: UploadedFile, extension: string): Promise<void> {
    const name = `${randomUUID()}.${extension}`
    const { type, size } = upload
    await upload.moveTo(join(this.folder.path, name))
    try {
      const old = await this.#note(country, { file: name, type, size })
      if (old !== undefined) await this.#remove(old)
    } catch (error) {
      await this.#remove(name)
      throw error
    }
  }

  /** @returns the file that the country had before */
  #note(
    { id: countryId }: Row<Country>,
    values: Pick<Picture, 'file' | 'type' | 'size'>,
  ): Promise<string | undefined> {
    return this.#database.transaction(async (tx) => {
      const pictures = tx.records(Picture)
      const [old] = await pictures.list({ where: { countryId }, limit: 1 })
      if (old === undefined) await pictures.create({ countryId, ...values })
      else await pictures.update(old.id, values)
      return old?.file
    })
  }

  #remove(name: string): Promise<void> {
    return rm(join(this.folder.path, name), { force: true })
  }
}

@Controller('/countries/<code:slug>/picture')
@Doc({ tags: ['pictures'] })
export class PictureController {
  static inject = [World, Pictures]
  readonly #world: World
  readonly #pictures: Pictures

  constructor(world: World, pictures: Pictures) {
    this.#world = world
    this.#pictures = pictures
  }

  @Get
  @Doc({ description: 'The picture of a country.' })
  async show(code: string) {
    const picture = await this.#pictures.find(await this.#existing(code))
    if (picture === undefined) throw new HttpError(404, `${code.toUpperCase()} has no picture yet.`)
    return file(picture.file, { root: this.#pictures.folder.path })
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
    await this.#pictures.keep(await this.#existing(code), picture, extension)
    return reply({ country: code.toUpperCase(), type: picture.type, size: picture.size }, 201)
  }

  async #existing(code: string): Promise<Row<Country>> {
    const country = await this.#world.country(code)
    if (country === undefined) throw new HttpError(404, `There is no country ${code}.`)
    return country
  }
}
