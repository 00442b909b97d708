#include "fetchers/answers/date_words.h"

namespace metafuse::fetchers {
namespace {

// A time without a number is one: "час назад". Chinese, Japanese and Korean write months as numbers.
constexpr DateWords kDateWords[] = {
    {"en",
     "* ago",
     "a an one",
     {"s sec secs second seconds", "m min mins minute minutes", "h hr hrs hour hours", "d day days",
      "w wk wks week weeks", "mo mos mth mths month months", "y yr yrs year years"},
     {"now|just now|right now", "today", "yesterday", "day before yesterday|the day before yesterday"},
     "jan january|feb february|mar march|apr april|may|jun june|jul july|aug august|sep sept september|"
     "oct october|nov november|dec december"},
    {"de",
     "vor *",
     "ein eine einem einer",
     {"s sek sekunde sekunden", "m min minute minuten", "h std stunde stunden", "d t tag tage tagen",
      "w wo woche wochen", "m mon monat monate monaten", "j jahr jahre jahren"},
     {"jetzt|gerade eben|soeben|gerade jetzt", "heute", "gestern", "vorgestern"},
     "jan januar jänner|feb februar|mär mrz märz maerz|apr april|mai|jun juni|jul juli|aug august|sep sept "
     "september|okt oktober|nov november|dez dezember"},
    {"fr",
     "il y a *",
     "un une",
     {"s sec seconde secondes", "m min mn minute minutes", "h heure heures", "j jour jours",
      "sem semaine semaines", "mois", "a an ans année années"},
     {"maintenant|à l instant|a l instant", "aujourd hui", "hier", "avant hier"},
     "janv janvier|févr févr fév fevr février fevrier|mars|avr avril|mai|juin|juil juillet|août aout|sept "
     "sep septembre|oct octobre|nov novembre|déc dec décembre decembre"},
    {"es",
     "hace *",
     "un una uno",
     {"s seg segundo segundos", "min minuto minutos", "h hora horas", "d día días dia dias",
      "sem semana semanas", "mes meses", "a año años"},
     {"ahora|ahora mismo|justo ahora", "hoy", "ayer", "anteayer|antes de ayer|antier"},
     "ene enero|feb febrero|mar marzo|abr abril|may mayo|jun junio|jul julio|ago agosto|sep sept septiembre "
     "setiembre|oct octubre|nov noviembre|dic diciembre"},
    {"it",
     "* fa",
     "un uno una",
     {"s sec secondo secondi", "min minuto minuti", "h ora ore", "g gg giorno giorni",
      "sett settimana settimane", "mese mesi", "a anno anni"},
     {"ora|adesso|proprio ora|poco fa", "oggi", "ieri", "l altro ieri|altro ieri|altroieri|avantieri"},
     "gen gennaio|feb febbraio|mar marzo|apr aprile|mag maggio|giu giugno|lug luglio|ago agosto|set sett "
     "settembre|ott ottobre|nov novembre|dic dicembre"},
    {"pt",
     "há *|ha *|* atrás|* atras|há * atrás",
     "um uma",
     {"s seg segundo segundos", "min minuto minutos", "h hora horas", "d dia dias", "sem semana semanas",
      "mês mes meses", "ano anos"},
     {"agora|agora mesmo", "hoje", "ontem", "anteontem|antes de ontem"},
     "jan janeiro|fev fevereiro|mar março marco|abr abril|mai maio|jun junho|jul julho|ago agosto|set "
     "setembro|out outubro|nov novembro|dez dezembro"},
    {"nl",
     "* geleden",
     "een één",
     {"s sec seconde seconden", "min minuut minuten", "u uur uren", "d dag dgn dagen", "w wk week weken",
      "mnd maand maanden", "j jr jaar jaren"},
     {"nu|zojuist|net", "vandaag", "gisteren", "eergisteren"},
     "jan januari|feb februari|mrt maart|apr april|mei|jun juni|jul juli|aug augustus|sep sept september|okt "
     "oktober|nov november|dec december"},
    {"sv",
     "för * sedan|för * sen|* sedan",
     "en ett",
     {"s sek sekund sekunder", "min minut minuter", "h t tim timme timmar", "d dag dagar", "v vecka veckor",
      "mån månad månader", "år"},
     {"nu|just nu|nyss", "i dag|idag", "i går|igår", "i förrgår|förrgår"},
     "jan januari|feb februari|mar mars|apr april|maj|jun juni|jul juli|aug augusti|sep sept september|okt "
     "oktober|nov november|dec december"},
    {"da",
     "for * siden|* siden",
     "en et",
     {"s sek sekund sekunder", "min minut minutter", "t time timer", "d dag dage døgn", "u uge uger",
      "md mdr måned måneder", "år"},
     {"nu|lige nu", "i dag|idag", "i går|igår", "i forgårs|forgårs"},
     "jan januar|feb februar|mar marts|apr april|maj|jun juni|jul juli|aug august|sep sept september|okt "
     "oktober|nov november|dec december"},
    {"nb",
     "for * siden|* siden|for * sia",
     "en ett et én",
     {"s sek sekund sekunder", "min minutt minutter", "t time timer", "d dag dager døgn", "u uke uker",
      "md mnd måned måneder", "år"},
     {"nå|akkurat nå|nettopp", "i dag", "i går", "i forgårs"},
     "jan januar|feb februar|mar mars|apr april|mai|jun juni|jul juli|aug august|sep sept september|okt "
     "oktober|nov november|des desember"},
    {"fi",
     "* sitten",
     "yksi",
     {"s sek sekunti sekuntia", "min minuutti minuuttia", "t tunti tuntia", "pv pvä päivä päivää",
      "vk viikko viikkoa", "kk kuukausi kuukautta", "v vuosi vuotta"},
     {"nyt|juuri nyt|äsken", "tänään", "eilen", "toissapäivänä|toissa päivänä"},
     "tammi tammikuu tammikuuta|helmi helmikuu helmikuuta|maalis maaliskuu maaliskuuta|huhti huhtikuu "
     "huhtikuuta|touko toukokuu toukokuuta|kesä kesäkuu kesäkuuta|heinä heinäkuu heinäkuuta|elo elokuu "
     "elokuuta|syys syyskuu syyskuuta|loka lokakuu lokakuuta|marras marraskuu marraskuuta|joulu joulukuu "
     "joulukuuta"},
    {"ru",
     "* назад",
     "один одна одну одно",
     {"с сек секунда секунду секунды секунд", "м мин минута минуту минуты минут", "ч час часа часов",
      "д дн день дня дней", "н нед неделя неделю недели недель", "мес месяц месяца месяцев",
      "г л год года лет"},
     {"сейчас|только что", "сегодня", "вчера", "позавчера"},
     "янв январь января|фев февр февраль февраля|мар март марта|апр апрель апреля|май мая|июн июнь июня|июл "
     "июль июля|авг август августа|сен сент сентябрь сентября|окт октябрь октября|ноя нояб ноябрь "
     "ноября|дек декабрь декабря"},
    {"uk",
     "* тому",
     "один одна одну",
     {"с сек секунда секунду секунди секунд", "хв хвилина хвилину хвилини хвилин",
      "г год година годину години годин", "д дн день дні днів дня", "т тиж тиждень тижні тижнів тижня",
      "міс місяць місяці місяців місяця", "р рік роки років року"},
     {"зараз|щойно", "сьогодні", "вчора|учора", "позавчора"},
     "січ січень січня|лют лютий лютого|бер березень березня|кві квіт квітень квітня|тра трав травень "
     "травня|чер черв червень червня|лип липень липня|сер серп серпень серпня|вер вересень вересня|жов жовт "
     "жовтень жовтня|лис лист листопад листопада|гру груд грудень грудня"},
    {"pl",
     "* temu",
     "jeden jedna jedną jedno",
     {"s sek sekunda sekundę sekundy sekund", "min minuta minutę minuty minut",
      "g h godz godzina godzinę "
      "godziny godzin",
      "d dn dzień dni", "tydz tyg tydzień tygodnie tygodni tygodnia",
      "mies miesiąc miesiące miesięcy miesiąca", "rok lata lat roku"},
     {"teraz|przed chwilą|właśnie teraz", "dzisiaj|dziś", "wczoraj|wcz", "przedwczoraj"},
     "sty stycznia styczeń|lut lutego luty|mar marca marzec|kwi kwietnia kwiecień|maj maja|cze czerwca "
     "czerwiec|lip lipca lipiec|sie sierpnia sierpień|wrz września wrzesień|paź października "
     "październik|lis listopada listopad|gru grudnia grudzień"},
    {"cs",
     "před *",
     "jeden jedna jednou jedním",
     {"s sek sekundou sekundami", "min minutou minutami", "h hod hodinou hodinami", "d dnem dny",
      "týd týdnem týdny", "měs měsícem měsíci", "r l rokem lety roky"},
     {"nyní|teď|právě teď", "dnes", "včera", "předevčírem"},
     "led leden ledna|úno únor února|bře březen března|dub duben dubna|kvě květen května|čvn červen "
     "června|čvc červenec července|srp srpen srpna|zář září|říj říjen října|lis listopad listopadu|pro "
     "prosinec prosince"},
    {"tr",
     "* önce",
     "bir",
     {"sn saniye", "dk dakika", "sa st saat", "g gün", "hf hafta", "ay", "y yıl"},
     {"şimdi|az önce|şu anda", "bugün", "dün", "evvelsi gün|önceki gün"},
     "oca ocak|şub şubat|mar mart|nis nisan|may mayıs|haz haziran|tem temmuz|ağu ağustos|eyl eylül|eki "
     "ekim|kas kasım|ara aralık"},
    {"zh",
     "*前|*之前|*以前",
     "一",
     {"秒 秒钟 秒鐘", "分 分钟 分鐘", "时 小时 小時 个小时 個小時 钟头", "天 日",
      "周 週 星期 个星期 個星期 礼拜", "月 个月 個月", "年"},
     {"现在|刚刚|剛剛|刚才|剛才|現在", "今天|今日", "昨天|昨日", "前天|前日"},
     ""},
    {"ja",
     "*前|*まえ",
     "一",
     {"秒 秒間", "分 分間", "時間", "日 日間", "週 週間", "か月 ヶ月 カ月 ヵ月 ケ月 箇月", "年 年間"},
     {"今|たった今|たったいま|今すぐ", "今日|本日", "昨日", "一昨日|おととい"},
     ""},
    {"ko",
     "*전",
     "한",
     {"초", "분", "시간", "일", "주 주일", "개월 달", "년"},
     {"지금|방금", "오늘", "어제", "그저께|그제"},
     ""},
};

}  // namespace

std::span<const DateWords> date_words() {
  return kDateWords;
}

}  // namespace metafuse::fetchers
