import { describe, expect, it } from 'vitest'
import { InvalidInputError } from '../../src/errors.ts'
import { connectTimeoutOf, groupOf, hostsOf } from '../../src/store/mysql/hosts.ts'

describe('the hosts of a URL', () => {
  it.each([
    ['mysql://root@localhost/app', ['mysql://root@localhost/app']],
    ['mariadb://root@localhost/app', ['mysql://root@localhost/app']],
    [
      'mysql://me:p%40ss%2Cword@h1:3306,h2,[::1]:3307/app?connectTimeout=5000',
      [
        'mysql://me:p%40ss%2Cword@h1:3306/app?connectTimeout=5000',
        'mysql://me:p%40ss%2Cword@h2/app?connectTimeout=5000',
        'mysql://me:p%40ss%2Cword@[::1]:3307/app?connectTimeout=5000',
      ],
    ],
    // A comma or @ in the password does not separate hosts.
    ['mysql://me:a,b@c@h1,h2/app', ['mysql://me:a,b@c@h1/app', 'mysql://me:a,b@c@h2/app']],
    ['mysql://h1, h2/app', ['mysql://h1/app', 'mysql://h2/app']],
  ])('%s', (url, urls) => {
    expect(hostsOf(url).map((host) => host.url)).toEqual(urls)
  })

  it('the URLs of the hosts omit the parameter `group`, because the driver does not support it', () => {
    const group = '0b39936d-e821-4bf0-9b9e-5e0afb0dbeaf'
    for (const query of [`?group=${group}&connectTimeout=5000`, `?connectTimeout=5000&group=${group}`]) {
      expect(groupOf(`mysql://h1,h2/app${query}`)).toBe(group)
      expect(hostsOf(`mysql://h1,h2/app${query}`).map(({ url }) => url)).toEqual([
        'mysql://h1/app?connectTimeout=5000',
        'mysql://h2/app?connectTimeout=5000',
      ])
    }
    expect(hostsOf(`mysql://h1/app?group=${group}`)[0]?.url).toBe('mysql://h1/app')
    expect(groupOf('mysql://h1/app?connectTimeout=5000')).toBeNull()
    expect(() => groupOf('mysql://h1/app?group=mine')).toThrow(
      "'group' is not a UUID; write the value of the server's group_replication_group_name",
    )
  })

  it('use the connect timeout from the URL', () => {
    expect(connectTimeoutOf('mysql://h1,h2/app?ssl={}&connectTimeout=5000')).toBe(5000)
    expect(connectTimeoutOf('mysql://h1,h2/app')).toBeNull()
    for (const wrong of ['', '0', '-1', '5s'])
      expect(() => connectTimeoutOf(`mysql://h1/app?connectTimeout=${wrong}`)).toThrow(
        "'connectTimeout' is not a number of milliseconds",
      )
  })

  it.each([
    ['mysql://root:s3cret@h1,,h2/app', 'host 2 of 3 is empty'],
    ['mysql://root:s3cret@h1,/app', 'host 2 of 2 is empty'],
    ['mysql://root:s3cret@/app', 'the host is empty'],
    ['mysql://root:s3cret@h1,h2:99999999/app', 'host 2 of 2 is not a valid name'],
    ['mysql://root:s3cret@h1,::1:3306/app', 'host 2 of 2 is not a valid name'],
    ['mysql://root:s3cret@h1,H1:3306/app', 'host 2 of 2 is listed twice'],
    ['mysql://root:s3cret@h1,h2', 'does not name a database'],
    ['mysql://root:s3cret@h1,h2/', 'does not name a database'],
    ['mysql://root:s3cret/x@h1,h2/app', '%2F for /'],
    ['mysql://root:s3cret#x@h1,h2/app', '%23 for #'],
    ['mysql://root:s3cret%@h1,h2/app', '%25 for %'],
    ['mysql://root:s3cret@h1,h2/app?ssl=true', 'ssl=true is not supported by the driver'],
    ['mysql://root:s3cret@h1/app?ssl=required', 'NODE_EXTRA_CA_CERTS'],
    ['mysql://root:s3cret@h1/app?ssl=', 'ssl={"verifyIdentity":true}'],
  ])('%s is rejected, and the password is not shown', (url, said) => {
    const refuse = () => hostsOf(url)
    expect(refuse).toThrow(InvalidInputError)
    expect(refuse).toThrow(said)
    expect(refuse).not.toThrow('s3cret')
  })
})
