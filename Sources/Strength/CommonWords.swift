/// Common choices in lower case, the most frequent first: the passwords that every attacker tries first, then names and
/// words.
///
/// Not a dictionary: a missing word counts as single letters, which is more.
enum CommonWords {
    static let text: StaticString = """
        123456 password 123456789 12345678 12345 qwerty 1234567 111111 1234567890 123123 abc123 1234 \
        password1 iloveyou 1q2w3e4r 000000 qwerty123 zaq12wsx dragon \
        sunshine princess letmein 654321 monkey 27653 1qaz2wsx 123321 \
        qwertyuiop superman asdfghjkl trustno1 welcome football baseball master hello freedom whatever charlie \
        michael jordan shadow ashley jennifer hunter daniel jessica michelle andrew joshua thomas robert matthew \
        killer soccer hockey batman harley ranger george computer starwars summer winter pepper ginger cheese \
        cookie buster maggie bailey chelsea rangers yankees cowboys lakers eagles liverpool arsenal barcelona \
        mustang corvette ferrari porsche mercedes yamaha honda access secret admin administrator root user guest \
        test testing default changeme passw0rd p@ssw0rd passwort geheim hallo schatz passe motdepasse azerty \
        soleil bonjour doudou chouchou contrasena hola mariposa estrella amor teamo senha brasil flamengo \
        wachtwoord welkom lozenord salasana haslo polska heslo parol privet jelszo sifre galatasaray fenerbahce \
        login pass pass123 pass1234 password12 password123 password1234 letmein1 welcome1 admin123 root123 \
        test123 abcd1234 abcdef abcdefg a1b2c3 a1b2c3d4 aa123456 asdf asdfgh asdfasdf asdf1234 zxcvbn zxcvbnm \
        qazwsx qazwsxedc qweasd qweasdzxc qwe123 1qazxsw2 q1w2e3r4 q1w2e3r4t5 1q2w3e 1q2w3e4r5t poiuytrewq \
        lkjhgfdsa mnbvcxz 112233 121212 123654 147258 147258369 159357 159753 222222 333333 444444 555555 666666 \
        696969 777777 7777777 888888 88888888 987654321 987654 999999 131313 101010 232323 252525 456789 789456 \
        789456123 11111111 00000000 0987654321 0123456789 11223344 12344321 123qwe 1234qwer 12qwaszx love lover \
        lovely loveme loveyou iloveu forever family friends friend happy angel angels angela anthony amanda \
        nicole daniela alexander alexandra samantha stephanie elizabeth christopher christian benjamin brandon \
        justin jasmine natalie nathan nicholas patrick peter phillip rachel rebecca richard ryan samuel sandra \
        sarah scott sean sophie steven taylor tiffany tigger tyler vanessa veronica victoria vincent william \
        zachary adrian albert alejandro alexis alice alicia alison amy andrea angelo anna annie antonio april \
        arthur ashton austin barbara becky bella bernard beth betty beverly billy bobby bonnie brad brian brittany \
        bruce bryan caleb cameron candy carl carla carlos carmen carol caroline carrie casey cassie catherine \
        cecilia charles charlotte cheryl chris christina christine cindy claire clara claudia cody connie connor \
        courtney craig crystal curtis cynthia danielle danny darren dave david dean deborah denise dennis derek \
        diana diane diego dominic donald donna doris dorothy douglas dylan eddie edgar eduardo edward eileen \
        elaine eleanor elena elias ella ellen emily emma eric erica erik erin ernest ethan eva evan evelyn \
        felipe felix fernando fiona frances francis francisco frank franklin fred gabriel gabriela gary gavin \
        gloria gordon grace graham grant greg gregory hannah harold harry heather hector heidi helen henry \
        herbert holly howard hugo ian ines irene isaac isabel isabella ivan jack jackie jackson jacob jake james \
        jamie jane janet janice jason javier jean jeff jeffrey jenna jenny jeremy jerry jesse jesus jill jimmy \
        joan joanna joel john johnny jonathan jorge jose joseph josh juan juanita judy julia julian julie june \
        karen karina karl kate katherine kathleen kathryn kathy katie keith kelly kelsey kenneth kenny kerry \
        kevin kimberly kristen kristin kyle larry laura lauren laurie lawrence leah leon leonard leslie lewis \
        liam lillian linda lisa logan lois lola lorenzo louis louise lucas lucy luis luke lydia lynn madison \
        manuel marc marcus margaret maria mariah marie marina mario marion marissa mark marlene martha martin \
        marvin mary mason maurice max maxwell megan melanie melissa melvin mercedes michele miguel mike mildred \
        miranda mitchell molly monica morgan nancy naomi natasha neil nelson nina noah noel nora norman oliver \
        olivia oscar pamela patricia paul paula pauline pedro peggy penny philip phyllis pierre preston priscilla \
        rafael ralph ramon randy raymond renee ricardo rick ricky rita robin rodney roger roland roman ronald \
        rosa rose roxanne roy ruby russell ruth sabrina sally sam sebastian sergio shannon sharon shaun shawn \
        sheila shelby sherry shirley sierra silvia simon sofia sonia spencer stacy stanley stella stephen steve \
        stuart susan suzanne sydney sylvia tamara tanya tara ted teresa terry theodore theresa tim timothy tina \
        todd tom tommy toni tony tracy travis trevor troy valentina valerie vera vicky victor vivian walter wanda \
        warren wayne wendy wesley whitney willie xavier yolanda yvonne zoe the and you that was for are with his \
        they this have from one had word but not what all were when your can said there use each which she how \
        their will other about out many then them these some her would make like him into time has look two more \
        write see number way could people than first water been call who oil its now find long down day did get \
        come made may part over new sound take only little work know place year live back give most very after \
        thing our just name good sentence man think say great where help through much before line right too mean \
        old any same tell boy follow came want show also around form three small set put end does another well \
        large must big even such because turn here why ask went men read need land different home move try kind \
        hand picture again change off play spell air away animal house point page letter mother answer found \
        study still learn should world high every near add food between own below country plant last school \
        father keep tree never start city earth eye light thought head under story saw left few while along might \
        close something seem next hard open example begin life always those both paper together got group often \
        run important until children side feet car mile night walk white sea began grow took river four carry \
        state once book hear stop without second late miss idea enough eat face watch far really almost let above \
        girl sometimes mountain cut young talk soon list song being leave music orange apple banana lemon cherry \
        coffee chocolate sugar honey flower garden forest ocean island beach summer spring autumn winter january \
        february march april may june july august september october november december monday tuesday wednesday \
        thursday friday saturday sunday red blue green yellow black white purple silver golden gold diamond star \
        moon sun sky rain snow fire wind storm thunder cloud stone rock king queen prince knight castle tower \
        bridge street road train plane ship boat bike horse dog cat bird fish lion tiger bear wolf eagle snake \
        spider rabbit mouse elephant turtle dolphin shark penguin panda phoenix unicorn magic wizard ninja pirate \
        robot alien ghost zombie vampire battery staple correct london paris berlin madrid rome moscow tokyo \
        boston chicago dallas denver houston miami seattle texas california florida america england france \
        germany italy spain russia china japan india canada mexico brazil australia internet server network \
        system windows linux ubuntu debian apple google facebook amazon microsoft samsung nokia office business \
        money bank dollar euro bitcoin company manager service support doctor nurse teacher student police army \
        navy marine soldier captain general sniper hunter killer death devil demon heaven hell god jesus christ \
        church bible faith hope peace trust truth power energy force speed super mega ultra turbo extreme player \
        gamer game games pokemon mario zelda minecraft fortnite naruto goku matrix avatar gandalf frodo hobbit \
        skywalker yoda vader potter hogwarts spiderman ironman wolverine joker marvel metal guitar piano drums \
        bass rocknroll punk hiphop beatles metallica nirvana slipknot eminem rihanna shakira madonna elvis prince \
        juventus milan inter napoli real chelsea everton celtic ajax porto benfica santos corinthians football1 \
        sports tennis golf basket basketball volleyball swimming running racing fishing hunting camping surfing \
        skater boxing karate judo cricket rugby champion winner number1 secure security private personal
        """
}
